// SPDX-License-Identifier: BSL-1.0
// The second way in: `claim` and `complete` inside a transaction that the caller owns.
#include <algorithm>
#include <utility>

#include "core/run.h"
#include "core/store_core.h"

namespace idem::inline v1 {

struct claim_token::content {
  std::shared_ptr<detail::transaction_state> state;
  idem::identity identity;
  attempt_id attempt;
};

namespace detail {
/// What `store` may do with a token.
struct claim_access {
  static claim_token make(std::shared_ptr<transaction_state> state, identity id,
                          attempt_id attempt) {
    claim_token token(std::make_unique<claim_token::content>(
        claim_token::content{std::move(state), std::move(id), attempt}));
    token.attempt_ = attempt;
    return token;
  }
  static std::unique_ptr<claim_token::content> take(claim_token&& token) {
    return std::move(token.content_);
  }
};
}  // namespace detail

namespace {

error make_error(errc what, phase where, std::string message) {
  error e;
  e.what = what;
  e.phase = where;
  e.message = std::move(message);
  return e;
}

result<> expect_usable(detail::transaction_state& state, phase where) {
  if (state.ended)
    return std::unexpected(
        make_error(errc::transaction_not_open, where, "the transaction has ended"));
  if (state.doomed)
    return std::unexpected(
        make_error(errc::transaction_aborted, where,
                   "this transaction can only be rolled back: " + state.doomed->message));
  if (state.restart_cause) {
    error e = *state.restart_cause;
    e.what = errc::transaction_aborted;
    e.phase = where;
    e.message = "a statement met a transient error: roll back and run the transaction again";
    return std::unexpected(std::move(e));
  }
  auto status = state.session->status();
  if (!status) return detail::at(std::move(status).error(), where, certainty::not_executed);
  if (*status == transaction_status::open) return {};
  bool const gone = *status == transaction_status::idle;
  return std::unexpected(make_error(
      gone ? errc::transaction_not_open : errc::transaction_aborted, where,
      gone ? "the session is not in a transaction (autocommit): begin one first"
           : "the session's transaction is aborted or the session is in use: roll it back first"));
}

result<> preflight(detail::store_core const& core, detail::transaction_state& state,
                   request const& r, claim_options const& options) {
  run_options bounds;
  bounds.wait_limit = options.wait_limit;
  bounds.write_version = options.write_version;
  if (auto valid = detail::check_run_options(bounds); !valid) return valid;
  if (state.session->sql().name != core.dialect_name)
    return std::unexpected(make_error(errc::configuration, phase::preflight,
                                      "the session speaks another dialect than the store"));
  if (auto usable = expect_usable(state, phase::preflight); !usable)
    return detail::at(std::move(usable).error(), phase::preflight, certainty::not_executed);
  if (std::ranges::find(state.open_claims, r.identity()) == state.open_claims.end()) return {};
  return std::unexpected(make_error(errc::claim_open, phase::preflight,
                                    "this transaction has claimed the identity already: "
                                    "complete that claim first"));
}

error end_transaction(detail::transaction_state& state, error e) {
  e.phase = phase::claim;
  e.certainty = certainty::not_executed;
  e.message = std::string(to_string(e.what)) + " ended the transaction: roll it back";
  e.what = errc::transaction_aborted;
  state.doom(e);
  return e;
}

// What ended the caller's transaction is told apart from what left it usable.
result<claim_result> claim_failed(detail::store_core const& core, detail::transaction_state& state,
                                  error e) {
  auto status = state.session->status();
  // What a claim waited for in vain ends with the claim alone; other failures end it all.
  if (status && *status == transaction_status::failed && e.what == errc::lock_timeout &&
      core.facts.failed_statement_aborts_transaction) {
    auto undone = detail::run_one(*state.session, core.sql.rollback_to_guard, state.limits);
    if (undone) status = state.session->status();
  }
  if (!status || *status != transaction_status::open)
    return std::unexpected(end_transaction(state, std::move(e)));
  if (detail::waited_for_identity(core, e)) return claim_result(in_progress{});
  auto failed = detail::at(std::move(e), phase::claim, certainty::not_executed);
  return std::unexpected(detail::with_schema_hint(std::move(failed).error()));
}

std::unexpected<error> invisible() {
  error e = make_error(errc::record_invisible, phase::claim,
                       "the key is taken but its record cannot be read: roll back and claim "
                       "again; if it stays, look for row security or a trigger");
  e.advice = advice::new_transaction;
  return std::unexpected(std::move(e));
}

// One savepoint is the witness of every claim of the transaction: a second one of the same name
// would take the place of the first on some engines and hide it on others.
result<> mark_claim(detail::store_core const& core, detail::transaction_state& state) {
  bool const needed = core.facts.witness == transaction_witness::savepoint;
  if (!needed || !state.open_claims.empty()) return {};
  auto marked = detail::run_one(*state.session, core.sql.savepoint, state.limits);
  if (marked) return {};
  // The claim is made and nobody holds its token: the transaction must not be committed.
  return std::unexpected(end_transaction(state, std::move(marked).error()));
}

// The save has proved the witness by releasing it: the other claims need a new one.
result<> mark_again(detail::store_core const& core, detail::transaction_state& state) {
  if (state.savepoint != detail::savepoint_place::gone || state.open_claims.empty()) return {};
  auto marked = detail::run_one(*state.session, core.sql.savepoint, state.limits);
  if (marked) state.savepoint = detail::savepoint_place::after_a_save;
  return marked;
}

// A transaction that the session does not have any more, though we did not end it.
result<> expect_not_replaced(detail::transaction_state& state) {
  auto usable = expect_usable(state, phase::save);
  if (usable || state.ended || usable.error().what != errc::transaction_not_open) return usable;
  usable.error().what = errc::transaction_replaced;
  usable.error().message = "the claim's transaction was ended before its response was saved";
  return usable;
}

result<> save_claim(detail::store_core const& core, detail::transaction_state& state,
                    identity const& id, attempt_id const& attempt, response const& r) {
  if (auto usable = expect_not_replaced(state); !usable) return usable;
  if (auto fits = detail::check_response(core, r); !fits) return fits;
  if (core.facts.witness == transaction_witness::savepoint)
    state.savepoint = detail::savepoint_place::gone;  // the save releases it
  auto saved = detail::send_save(core, *state.session, id, attempt, record_state::completed, r,
                                 state.limits);
  if (!saved) return saved;
  state.forget_claim(id);
  return mark_again(core, state);
}

result<> another_transaction() {
  return std::unexpected(
      make_error(errc::invalid_argument, phase::save, "the claim was made in another transaction"));
}

}  // namespace

claim_token::claim_token(std::unique_ptr<content> c) : content_(std::move(c)) {}
claim_token::claim_token(claim_token&&) noexcept = default;

claim_token& claim_token::operator=(claim_token&& other) noexcept {
  claim_token moved(std::move(other));
  std::swap(content_, moved.content_);
  attempt_ = moved.attempt_;
  return *this;
}

claim_token::~claim_token() {
  if (content_ == nullptr) return;
  content_->state->doom(detail::aborted("a claim was dropped without its response"));
}

attempt_id const& claim_token::attempt() const noexcept { return attempt_; }

result<claim_result> store::claim(transaction& tx, request const& r,
                                  claim_options const& options) const {
  auto const& state = detail::transaction_state::of(tx);
  if (state == nullptr)
    return std::unexpected(make_error(errc::transaction_not_open, phase::preflight,
                                      "this transaction was moved from"));
  if (auto ready = preflight(*core_, *state, r, options); !ready)
    return std::unexpected(std::move(ready).error());
  attempt_id const attempt = attempt_id::random();
  call_limits const limits{options.deadline, options.stop, options.wait_limit};
  auto step = detail::send_claim(
      *core_, *state->session,
      {&r, attempt, options.write_version, options.store_canonical_request,
       core_->facts.failed_statement_aborts_transaction ? detail::claim_savepoint::around
                                                        : detail::claim_savepoint::none},
      limits);
  if (!step) return claim_failed(*core_, *state, std::move(step).error());
  if (auto const* winner = std::get_if<record>(&*step)) {
    auto judged = detail::judge(*winner, r);
    if (!judged)
      return detail::at(std::move(judged).error(), phase::claim, certainty::not_executed);
    return std::visit([](auto&& o) { return claim_result(std::move(o)); }, std::move(*judged));
  }
  if (std::holds_alternative<detail::claim_invisible>(*step)) return invisible();
  if (auto marked = mark_claim(*core_, *state); !marked)
    return std::unexpected(std::move(marked).error());
  state->open_claims.push_back(r.identity());
  return claim_result(detail::claim_access::make(state, r.identity(), attempt));
}

result<attempt_id> store::complete(transaction& tx, claim_token&& token, response const& r) const {
  auto claimed = detail::claim_access::take(std::move(token));
  if (claimed == nullptr) return invalid_argument("the claim token was used already");
  auto const& state = claimed->state;
  auto saved = state == detail::transaction_state::of(tx)
                   ? save_claim(*core_, *state, claimed->identity, claimed->attempt, r)
                   : another_transaction();
  if (!saved) {
    error e = std::move(saved).error();
    e.phase = phase::save;
    bool const ended = e.what == errc::transaction_replaced || !e.attempts.empty();
    bool const unknown = ended && state->may_have_committed();
    e.attempts.clear();
    e.certainty = unknown ? certainty::in_doubt : certainty::rolled_back;
    if (unknown) e.advice = advice::resolve_first;
    if (unknown) e.attempts = {claimed->attempt};
    state->doom(e);
    return std::unexpected(std::move(e));
  }
  state->completed.push_back(claimed->attempt);
  return claimed->attempt;
}

}  // namespace idem::inline v1
