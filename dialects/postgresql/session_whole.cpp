// SPDX-License-Identifier: BSL-1.0
// A whole operation in one flush: begin, claim, effect, save, COMMIT, and the look behind it.
#include <algorithm>
#include <array>
#include <utility>

#include "dialects/postgresql/placeholders.h"
#include "dialects/postgresql/session_impl.h"

namespace idem::inline v1::postgresql::detail {

namespace {

using places = whole_places;

// With a transaction begun anew, the ROLLBACK behind it finds one: without one it would be answered
// with a warning, which libpq prints. Only a COMMIT that fails leaves none.
// https://www.postgresql.org/docs/15/sql-commit.html
constexpr std::string_view commit_and_chain_sql = "COMMIT AND CHAIN";
constexpr std::string_view rollback_sql = "ROLLBACK";

// In a pipeline nothing between the claim and the save can be looked at, so no statement there may
// end the transaction. COPY cannot be answered in a pipeline.
constexpr std::array<std::string_view, 10> refused_words{
    "ABORT",   "BEGIN",   "COMMIT",   "COPY",      "END",
    "PREPARE", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"};

// What a command answers that ended or began a transaction, by whatever way it was run.
constexpr std::array<std::string_view, 5> ending_tags{"BEGIN", "COMMIT", "PREPARE TRANSACTION",
                                                      "ROLLBACK", "START TRANSACTION"};

result<> check_effect(std::span<statement const> effect) {
  for (auto const& one : effect) {
    auto const word = first_word(one.sql);
    if (std::ranges::find(refused_words, word) == refused_words.end()) continue;
    return std::unexpected(refusal_of(
        errc::invalid_argument, "a fixed effect must not hold " + word +
                                    ": its statements run inside the operation's transaction"));
  }
  return {};
}

bool ended_by_effect(flush_answer const& answered, places const& at) {
  for (auto i = at.effect; i < at.save; ++i) {
    auto* const r = answered.results[i].get();
    if (r != nullptr &&
        std::ranges::find(ending_tags, std::string_view(PQcmdStatus(r))) != ending_tags.end())
      return true;
  }
  return false;
}

phase phase_of(std::size_t command, places const& at) noexcept {
  if (command < at.effect) return phase::claim;
  if (command < at.save) return phase::effect;
  return command < at.commit ? phase::save : phase::commit;
}

bool is_committed(flush_answer const& answered, places const& at) {
  auto* const r = answered.results[at.commit].get();
  return r != nullptr && std::string_view(PQcmdStatus(r)) == "COMMIT";
}

// A cancel can end the wait for a synchronous standby: the server then answers COMMIT as ever,
// with a warning. https://www.postgresql.org/docs/15/warm-standby.html#SYNCHRONOUS-REPLICATION
error cancelled_commit() {
  error e = refusal_of(errc::deadline_exceeded,
                       "a cancel was sent while COMMIT was under way: it is committed, but perhaps "
                       "not where it is replicated to");
  e.phase = phase::commit;
  e.certainty = certainty::in_doubt;
  return e;
}

// Where the server does not have a prepared statement, nothing up to COMMIT took place, unless the
// effect ended the transaction. A look that failed so is only a look.
bool may_be_sent_again(flush_answer const& answered, places const& at) {
  return answered.stale && answered.complete && *answered.failed <= at.commit &&
         !ended_by_effect(answered, at);
}

std::optional<error> failure_of(flush_answer const& answered, places const& at) {
  if (ended_by_effect(answered, at)) {
    error e =
        refusal_of(errc::transaction_replaced,
                   "the effect ended the transaction: an effect must not commit or roll back");
    e.phase = phase::effect;
    e.certainty = certainty::in_doubt;
    return e;
  }
  if (is_committed(answered, at)) {
    if (answered.cancelled) return cancelled_commit();
    return std::nullopt;
  }
  error e = answered.why.value_or(refusal_of(
      errc::transaction_aborted, "the server answered COMMIT with ROLLBACK: nothing of it stays"));
  e.phase = phase_of(answered.failed.value_or(at.commit), at);
  bool const undone = !answered.why || proves_undone(answered, e);
  e.certainty = undone ? certainty::rolled_back : certainty::in_doubt;
  if (e.phase == phase::effect && e.what == errc::save_unmatched) e.what = errc::statement_failed;
  // A trigger can make the insert succeed without a row: the save then found none.
  auto* const claim = answered.results[at.claim].get();
  bool const dropped = claim != nullptr && std::string_view(PQcmdTuples(claim)) == "0";
  if (undone && dropped && e.what == errc::save_unmatched) {
    e.what = errc::unique_violation;
    e.phase = phase::claim;
  }
  return e;
}

}  // namespace

result<whole_answer> postgresql_session::run_whole(whole_transaction const& whole,
                                                   call_limits const& limits) {
  if (auto fits = check_effect(whole.effect); !fits)
    return std::unexpected(std::move(fits).error());
  if (auto begun = begin({whole.isolation, false, limits}); !begun)
    return std::unexpected(std::move(begun).error());
  flush f;
  places at{};
  add_begin(f);
  auto const wait = wait_parameters(limits);
  if (limits.wait_limit) f.commands.push_back({set_wait_sql, wait});
  at.claim = f.commands.size();
  f.commands.push_back({whole.claim.sql, whole.claim.parameters});
  if (limits.wait_limit) f.commands.push_back({restore_wait_sql, {}});
  at.effect = f.commands.size();
  for (auto const& one : whole.effect) f.commands.push_back({one.sql, one.parameters, false});
  at.save = f.commands.size();
  f.commands.push_back({whole.save.sql, whole.save.parameters});
  at.commit = f.commands.size();
  f.commands.push_back({commit_and_chain_sql, {}, true, true, true});
  f.commands.push_back({rollback_sql, {}, true, true});
  // Whoever holds the whole table keeps the look waiting too.
  if (limits.wait_limit) f.commands.push_back({set_wait_sql, wait});
  at.look = f.commands.size();
  f.commands.push_back({whole.look.sql, whole.look.parameters});
  auto answered = send(f, limits, impatience::cancel);
  if (answered && may_be_sent_again(*answered, at)) {
    if (auto* memory = connection_memory::of(conn_)) memory->forget_statements();
    answered = send(f, limits, impatience::cancel);
  }
  ended();
  if (answered) return whole_answer_of(*answered, at, limits.wait_limit.has_value());
  // Part of it may have gone out, and a server obeys a COMMIT without the Sync behind it.
  error e = std::move(answered).error();
  if (e.what != errc::connection_lost) return std::unexpected(std::move(e));
  e.phase = phase::commit;
  e.certainty = certainty::in_doubt;
  return whole_answer{std::move(e), std::nullopt};
}

whole_answer postgresql_session::whole_answer_of(flush_answer const& answered, places const& at,
                                                 bool waits) {
  // An effect that ends the transaction can leave one behind the ROLLBACK.
  if (usable() && PQtransactionStatus(conn_) != PQTRANS_IDLE && !rollback()) broken_ = true;
  whole_answer out{failure_of(answered, at), std::nullopt};
  if (!out.failure) return out;
  if (out.failure->what == errc::lock_timeout)
    out.failure->wait_unnamed = !waits || !waited_for_key(answered, at.claim - 1);
  if (auto* const look = answered.results[at.look].get()) {
    out.found = read_rows(look);
    return out;
  }
  error why = answered.later.value_or(lost(conn_));
  if (has_lost_names(why.native.sqlstate)) {
    if (auto* memory = connection_memory::of(conn_)) memory->forget_statements();
    why.advice = advice::new_transaction;
  }
  out.found = std::unexpected(std::move(why));
  return out;
}

}  // namespace idem::inline v1::postgresql::detail
