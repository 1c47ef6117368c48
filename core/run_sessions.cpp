// SPDX-License-Identifier: BSL-1.0
// What `run` does with the sessions that it is given: one for each attempt, and one to find out
// what became of the last.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/held_sources.h"
#include "core/run.h"

namespace idem::inline v1::detail {

namespace {

// Of a source that does not say how many sessions it can have.
constexpr std::size_t most_dead_sessions = 100;

}  // namespace

// A pool may hold as many dead sessions as it has room for, and after them it makes new ones.
bool run_operation::may_replace() {
  auto const most = source_.capacity() == std::numeric_limits<std::size_t>::max()
                        ? most_dead_sessions
                        : source_.capacity();
  return ++replaced_ <= most && patience();
}

result<session_lease> run_operation::acquire() {
  if (held_source::count(source_) >= source_.capacity())
    return std::unexpected(make_error(errc::session_not_idle, phase::connect, advice::never,
                                      "the runs around this one have every session of the pool: "
                                      "enlarge it"));
  auto lease = session_lease::acquire(source_, limits_);
  if (!lease) return at(std::move(lease).error(), phase::connect, certainty::not_executed);
  return lease;
}

// A session that turns out dead before anything of the operation was sent costs no attempt.
result<outcome> run_operation::try_once() {
  for (;;) {
    sent_ = false;
    auto lease = acquire();
    if (!lease) return std::unexpected(std::move(lease).error());
    held_source const holds(source_, (*lease)->one_writer_of());
    auto answered = on_session(*lease);
    if (answered) return answered;
    error& e = answered.error();
    if (e.advice == advice::new_connection || e.advice == advice::resolve_first) lease->discard();
    if (e.advice == advice::new_connection && !sent_ && may_replace()) continue;
    // Only a guarded session knows that what ended the transaction kept nothing of it.
    if (e.what == errc::transaction_replaced && !(*lease)->guards_commit())
      e.certainty = certainty::in_doubt;
    return answered;
  }
}

result<outcome> run_operation::on_session(session_lease& lease) {
  if (auto ready = preflight(lease); !ready) return std::unexpected(std::move(ready).error());
  if (core_.facts.look_before_claim) {
    if (auto found = look(*lease)) return std::move(*found);
  }
  if (held_source::writers(lease->one_writer_of()) > 1)
    return std::unexpected(make_error(
        errc::session_not_idle, phase::preflight, advice::never,
        "a run around this one is writing to the same database, which takes one writer at a time: "
        "claim in the effect's transaction instead, or run after it"));
  if (fixed_ != nullptr) {
    if (auto answered = in_one_trip(*lease)) return std::move(*answered);
  }
  return in_transaction(lease);
}

result<void> run_operation::preflight(session_lease& lease) {
  if (lease->sql().name != core_.dialect_name)
    return std::unexpected(make_error(errc::configuration, phase::preflight, advice::never,
                                      "the session speaks another dialect than the store"));
  auto status = lease->status();
  if (!status) return at(std::move(status).error(), phase::preflight, certainty::not_executed);
  switch (*status) {
    case transaction_status::idle:
      return {};
    case transaction_status::unknown:
      return std::unexpected(make_error(errc::connection_lost, phase::preflight,
                                        advice::new_connection,
                                        "the session's connection is not usable"));
    default:
      return std::unexpected(
          make_error(errc::session_not_idle, phase::preflight, advice::never,
                     "the session is in use (an open transaction, unread results, a pipeline or "
                     "another run): run needs an idle one"));
  }
}

// No claim follows that would find out what became of a COMMIT: a resolve does, which claims too,
// but for the sake of the answer alone.
result<outcome> run_operation::last_look(error e) {
  if (!doubt_ || !patience()) return conclude(std::move(e));
  auto found = find_out();
  if (!found) return conclude(std::move(e));
  if (auto* ours = std::get_if<resolved::executed>(&*found)) {
    if (ours->state == record_state::refused)
      return answer_with(refused{std::move(ours->response), true});
    return answer_with(executed{std::move(ours->response), ours->attempt});
  }
  if (auto* winner = std::get_if<resolved::replayed>(&*found))
    return answer_with(replayed{std::move(winner->response), winner->was_refusal});
  if (std::holds_alternative<resolved::mismatched>(*found)) return answer_with(mismatched{});
  if (!std::holds_alternative<resolved::absent>(*found)) return conclude(std::move(e));
  error gone = std::move(*doubt_);
  doubt_.reset();
  gone.what = errc::connection_lost;
  gone.certainty = certainty::rolled_back;
  gone.advice = advice::new_connection;
  gone.attempts.clear();
  gone.message = "the answer to COMMIT was lost, and the COMMIT did not take place: run it again";
  return conclude(std::move(gone));
}

// It may be asked again on another session: it changes nothing.
result<resolution> run_operation::find_out() {
  call_limits const waiting{options_.deadline, options_.stop, options_.wait_limit};
  for (;;) {
    auto lease = acquire();
    if (!lease) return std::unexpected(std::move(lease).error());
    auto found = resolve_attempts(core_, **lease, request_, doubt_->attempts, waiting);
    if (found) return found;
    lease->discard();
    if (found.error().advice != advice::new_connection || !may_replace()) return found;
  }
}

}  // namespace idem::inline v1::detail
