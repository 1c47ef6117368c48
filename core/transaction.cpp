// SPDX-License-Identifier: BSL-1.0
#include <idem/transaction.h>

#include <algorithm>
#include <utility>

#include "core/store_core.h"

namespace idem::inline v1 {

namespace {

std::unexpected<error> refuse(errc what, phase where, std::string message) {
  error e;
  e.what = what;
  e.phase = where;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

result<> expect_status(session& s, transaction_status wanted) {
  auto status = s.status();
  if (!status)
    return detail::at(std::move(status).error(), phase::preflight, certainty::not_executed);
  if (*status == wanted) return {};
  switch (*status) {
    case transaction_status::idle:
      return refuse(errc::transaction_not_open, phase::preflight,
                    "the session has no open transaction: begin one first");
    case transaction_status::failed:
      return refuse(errc::transaction_aborted, phase::preflight,
                    "the session's transaction is aborted: roll it back first");
    case transaction_status::unknown:
      return refuse(errc::connection_lost, phase::preflight,
                    "the session's state is not known: take another connection");
    case transaction_status::open:
    case transaction_status::busy:
      break;
  }
  return refuse(errc::session_not_idle, phase::preflight,
                "the session is in use (an open transaction, unread results or a pipeline): "
                "finish that first");
}

result<> commit_doomed(detail::transaction_state& state) {
  error why = *state.doomed;
  if (auto undone = state.rollback(); !undone)
    state.report("commit of a doomed transaction", undone.error());
  why.phase = phase::commit;
  return std::unexpected(std::move(why));
}

}  // namespace

namespace detail {

error aborted(std::string message) {
  error e;
  e.what = errc::transaction_aborted;
  e.phase = phase::effect;
  e.certainty = certainty::rolled_back;
  e.message = std::move(message);
  return e;
}

void transaction_state::doom(error why) {
  if (!doomed) doomed = std::move(why);
}

void transaction_state::forget_claim(identity const& id) { std::erase(open_claims, id); }

result<> transaction_state::rollback() {
  if (ended) return {};
  ended = true;
  return session->rollback();
}

void transaction_state::note_failure(error const& e) {
  // What was ended before this statement, or by its success, was not ended by its failure.
  if (session->guards_commit() || e.what == errc::transaction_replaced) return;
  auto const status = session->status();
  ended_by_failure = status && *status == transaction_status::idle;
}

void transaction_state::report(std::string_view where, error const& e) noexcept {
  if (observer != nullptr) observer->on_destructor_failure(where, e);
}

transaction transaction_state::make(std::shared_ptr<transaction_state> s) {
  return transaction(std::move(s));
}

std::shared_ptr<transaction_state> const& transaction_state::of(transaction const& tx) {
  return tx.state_;
}

}  // namespace detail

transaction::transaction(std::shared_ptr<detail::transaction_state> s) : state_(std::move(s)) {}
transaction::transaction(transaction&&) noexcept = default;

transaction& transaction::operator=(transaction&& other) noexcept {
  transaction moved(std::move(other));
  std::swap(state_, moved.state_);
  return *this;
}

transaction::~transaction() {
  if (!state_ || state_->owner != detail::transaction_owner::self) return;
  auto rolled_back = state_->rollback();
  if (!rolled_back) state_->report("transaction", rolled_back.error());
}

namespace {

// Drivers take a text up to its NUL, and would run half of a statement.
result<> check_text(std::string_view sql) {
  if (!sql.contains('\0')) return {};
  auto refused = invalid_argument("a statement must not hold NUL: bind it as a parameter");
  return detail::at(std::move(refused).error(), phase::effect, certainty::rolled_back);
}

}  // namespace

result<transaction> transaction::begin(idem::session& s, begin_options const& options,
                                       observer* o) {
  if (auto idle = expect_status(s, transaction_status::idle); !idle)
    return std::unexpected(std::move(idle).error());
  if (auto begun = s.begin(options); !begun)
    return detail::at(std::move(begun).error(), phase::begin, certainty::not_executed);
  auto state = std::make_shared<detail::transaction_state>();
  state->session = &s;
  state->observer = o;
  state->limits = options.limits;
  state->limits.wait_limit.reset();  // the begin's wait does not leak into the effect
  return transaction(std::move(state));
}

result<transaction> transaction::adopt(idem::session& s, observer* o, isolation wanted) {
  // The savepoint of a claim made so would hide the run's, and a claim dropped there be committed.
  if (dynamic_cast<detail::lent_session*>(&s) != nullptr)
    return refuse(errc::unsupported, phase::preflight,
                  "the transaction of an effect cannot be adopted: claim in the one that the "
                  "effect was given");
  if (wanted != isolation::engine_default)
    return refuse(errc::isolation_mismatch, phase::preflight,
                  "the level of an adopted transaction cannot be proven: set it where the "
                  "transaction is begun and adopt it with the engine's default");
  if (auto open = expect_status(s, transaction_status::open); !open)
    return std::unexpected(std::move(open).error());
  auto state = std::make_shared<detail::transaction_state>();
  state->session = &s;
  state->observer = o;
  state->owner = detail::transaction_owner::caller;
  return transaction(std::move(state));
}

namespace {

result<> expect_open(detail::transaction_state& state) {
  auto status = state.session->status();
  if (!status) return detail::at(std::move(status).error(), phase::effect, certainty::rolled_back);
  if (*status == transaction_status::open || *status == transaction_status::busy) return {};
  bool const gone = *status == transaction_status::idle;
  error e;
  e.what = gone ? errc::transaction_replaced : errc::transaction_aborted;
  e.phase = phase::effect;
  e.certainty = gone ? certainty::in_doubt : certainty::rolled_back;
  e.message = gone ? "the transaction has ended outside idem: nothing was sent"
                   : "the transaction can only be rolled back: nothing was sent";
  state.doom(e);
  return std::unexpected(std::move(e));
}

std::unexpected<error> moved_from() {
  return refuse(errc::transaction_not_open, phase::effect, "this transaction was moved from");
}

}  // namespace

result<rows> transaction::execute(std::string_view sql, std::initializer_list<parameter> list) {
  return execute(sql, std::span(list.begin(), list.size()));
}

result<rows> transaction::execute(std::string_view sql, std::span<parameter const> parameters) {
  if (!state_) return moved_from();
  auto& state = *state_;
  if (state.ended || state.doomed)
    return refuse(errc::transaction_aborted, phase::effect,
                  "this transaction takes no more statements: " +
                      (state.doomed ? state.doomed->message : std::string("it has ended")));
  if (auto whole = check_text(sql); !whole) return std::unexpected(std::move(whole).error());
  // A session that did not begin the transaction cannot tell when it is gone: what would be sent
  // then commits by itself.
  if (state.owner == detail::transaction_owner::caller)
    if (auto open = expect_open(state); !open) return std::unexpected(std::move(open).error());
  statement const one{sql, parameters};
  auto answered = state.session->execute(std::span(&one, 1), state.limits);
  if (answered) return std::move(answered->front());
  error e = std::move(answered).error();
  e.phase = phase::effect;
  e.certainty = certainty::rolled_back;
  bool const restart = e.advice == advice::new_transaction || e.advice == advice::new_connection;
  if (restart && !state.restart_cause) state.restart_cause = e;
  state.note_failure(e);
  return std::unexpected(std::move(e));
}

result<> transaction::commit() {
  if (!state_) return moved_from();
  auto& state = *state_;
  if (state.owner != detail::transaction_owner::self)
    return refuse(errc::unsupported, phase::commit,
                  "this transaction is committed by the one that began it");
  if (state.ended)
    return refuse(errc::transaction_not_open, phase::commit, "the transaction has ended");
  if (!state.open_claims.empty()) state.doom(detail::aborted("a claim in it was not completed"));
  // The server may have undone that statement alone: what is left is half an effect.
  if (state.restart_cause) state.doom(*state.restart_cause);
  if (state.doomed) return commit_doomed(state);
  auto committed = state.session->commit({}, state.limits);
  if (committed) {
    state.ended = true;
    return {};
  }
  error e = std::move(committed).error();
  // Only a guarded session knows that what ended the transaction kept nothing of it.
  if (e.what == errc::transaction_replaced && !state.session->guards_commit())
    e.certainty = certainty::in_doubt;
  else if (e.certainty == certainty::in_doubt)
    e.what = errc::commit_in_doubt;
  if (e.certainty == certainty::in_doubt) e.advice = advice::resolve_first;
  e.phase = phase::commit;
  e.attempts = state.completed;
  if (auto undone = state.rollback(); !undone)
    state.report("rollback after a failed commit", undone.error());
  return std::unexpected(std::move(e));
}

result<> transaction::rollback() {
  if (!state_) return moved_from();
  if (state_->owner != detail::transaction_owner::self)
    return refuse(errc::unsupported, phase::rollback,
                  "this transaction is ended by the one that began it");
  auto ended = state_->rollback();
  if (!ended) return detail::at(std::move(ended).error(), phase::rollback, certainty::rolled_back);
  return {};
}

idem::session& transaction::session() const noexcept {
  if (state_->lent) return *state_->lent;
  return *state_->session;
}

}  // namespace idem::inline v1
