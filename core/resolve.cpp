// SPDX-License-Identifier: BSL-1.0
// What became of attempts whose COMMIT is in doubt.
#include <algorithm>
#include <utility>

#include "core/store_core.h"

namespace idem::inline v1::detail {

namespace {

result<resolution> resolve_by(record const& r, request const& asked,
                              std::span<attempt_id const> attempts) {
  bool const ours = std::ranges::find(attempts, r.attempt) != attempts.end();
  auto judged = judge(r, asked);
  if (!judged) {
    // A half record of one of our attempts: the effect may stay, only a person can tell.
    auto const known = ours ? certainty::in_doubt : certainty::not_executed;
    return at(std::move(judged).error(), phase::resolve, known);
  }
  // Also of our own attempt: whoever asks with other content learns nothing of what is stored.
  if (std::holds_alternative<mismatched>(*judged)) return resolution(resolved::mismatched{});
  if (ours) return resolution(resolved::executed{r.response, r.attempt, r.state});
  auto& answer = std::get<replayed>(*judged);
  return resolution(resolved::replayed{std::move(answer.response), answer.was_refusal});
}

// No record can be read. A claim of the same identity waits for every transaction that could
// still write one: if it inserts, there is none.
result<resolution> probe_absence(store_core const& core, session& s, request const& r,
                                 std::span<attempt_id const> attempts, call_limits const& limits) {
  auto const unanswered = [&core](error e) -> result<resolution> {
    if (waited_for_identity(core, e)) return resolution(resolved::open{});
    if (e.what == errc::lock_timeout) return resolution(resolved::unproven{});
    return at(std::move(e), phase::resolve, certainty::in_doubt);
  };
  begin_options options;
  options.limits = limits;
  auto tx = transaction::begin(s, options, core.options.observer);
  if (!tx) return unanswered(std::move(tx).error());
  claim_input const input{&r, attempt_id::random(), current_fingerprint_version, false};
  auto step = send_claim(core, s, input, limits);
  if (auto ended = tx->rollback(); !ended)
    return at(std::move(ended).error(), phase::resolve, certainty::in_doubt);
  if (!step) return unanswered(std::move(step).error());
  if (auto const* winner = std::get_if<record>(&*step)) return resolve_by(*winner, r, attempts);
  bool const proven = std::holds_alternative<claim_inserted>(*step) &&
                      core.facts.claim_proves_absence &&
                      std::ranges::none_of(attempts, &attempt_id::travels_whole);
  if (proven) return resolution(resolved::absent{});
  return resolution(resolved::unproven{});
}

std::unexpected<error> not_idle(transaction_status now) {
  error e;
  bool const dead = now == transaction_status::unknown;
  e.what = dead ? errc::connection_lost : errc::session_not_idle;
  if (dead) e.advice = advice::new_connection;
  e.message = dead ? "the session's connection is not usable: resolve on another one"
                   : "the session is in use: resolve needs an idle one";
  return at(std::move(e), phase::resolve, certainty::in_doubt);
}

}  // namespace

result<resolution> resolve_attempts(store_core const& core, session& s, request const& r,
                                    std::span<attempt_id const> attempts,
                                    call_limits const& limits) {
  // In a transaction, its own writes and its old snapshot would pass for what is committed.
  auto status = s.status();
  if (!status) return at(std::move(status).error(), phase::resolve, certainty::in_doubt);
  if (*status != transaction_status::idle) return not_idle(*status);
  auto found = read_record(core, s, r.identity(), limits);
  if (!found) {
    auto failed = at(std::move(found).error(), phase::resolve, certainty::in_doubt);
    return std::unexpected(with_schema_hint(std::move(failed).error()));
  }
  if (*found) return resolve_by(**found, r, attempts);
  return probe_absence(core, s, r, attempts, limits);
}

}  // namespace idem::inline v1::detail
