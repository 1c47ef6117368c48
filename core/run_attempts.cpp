// SPDX-License-Identifier: BSL-1.0
// What `run` does between attempts: go on, stop, and say what is known.
#include <algorithm>
#include <utility>

#include "core/notify.h"
#include "core/run.h"

namespace idem::inline v1::detail {

namespace {

void add_attempts(error& e, std::vector<attempt_id> const& more) {
  for (auto const& id : more)
    if (std::ranges::find(e.attempts, id) == e.attempts.end()) e.attempts.push_back(id);
}

}  // namespace

error make_error(errc what, phase where, advice next, std::string message) {
  error e;
  e.what = what;
  e.phase = where;
  e.advice = next;
  e.message = std::move(message);
  return e;
}

bool run_operation::worth_another(error const& e) const {
  // While a COMMIT of ours is in doubt, the next claim is how it is found out.
  if (doubt_) return e.advice != advice::never;
  if (e.advice == advice::new_connection) return true;
  if (e.advice != advice::new_transaction) return false;
  // The caller's own wait limit was reached: waiting again is for the caller to say.
  bool const claiming = e.phase == phase::begin || e.phase == phase::claim;
  return !(claiming && e.what == errc::lock_timeout);
}

void run_operation::remember_doubt(error const& e) {
  // The doubt of another run, passed on by the effect, is not ours.
  if (e.what != errc::commit_in_doubt || e.certainty != certainty::in_doubt) return;
  auto attempts = doubt_ ? std::move(doubt_->attempts) : std::vector<attempt_id>();
  doubt_ = e;
  attempts.push_back(attempt_);
  doubt_->attempts = std::move(attempts);
  notify(observer_, "on_in_doubt", [&](observer& o) { o.on_in_doubt(*doubt_); });
}

void run_operation::doubt_commit(error& e) const {
  e.what = errc::commit_in_doubt;
  e.advice = advice::resolve_first;
  e.attempts = {attempt_};
}

// The claim waited for every older transaction of this identity, so none can commit later, unless
// its own claim was still on its way.
void run_operation::claimed() noexcept {
  bool const proves = doubt_ && core_.facts.claim_proves_absence &&
                      std::ranges::none_of(doubt_->attempts, &attempt_id::travels_whole);
  if (proves) doubt_.reset();
}

result<void> run_operation::patience() const {
  error e;
  e.phase = phase::begin;
  if (last_) e.native = last_->native;
  if (options_.stop.stop_requested()) {
    e.what = errc::cancelled;
    e.message = "stopped by the caller";
    return std::unexpected(std::move(e));
  }
  if (std::chrono::steady_clock::now() < options_.deadline) return {};
  e.what = errc::deadline_exceeded;
  e.message = "the deadline has passed";
  return std::unexpected(std::move(e));
}

// The last word where there is no answer. A doubt that was not cleared outweighs everything
// that happened since, the effect's exception included.
result<outcome> run_operation::conclude(error e) {
  if (doubt_) {
    error doubt = std::move(*doubt_);
    doubt_.reset();
    if (e.certainty == certainty::in_doubt) add_attempts(doubt, e.attempts);
    doubt.what = errc::commit_in_doubt;
    doubt.certainty = certainty::in_doubt;
    doubt.advice = advice::resolve_first;
    doubt.message = "COMMIT was sent, its answer was lost and could not be found out (" +
                    std::string(to_string(e.what)) + "): resolve the attempts";
    e = std::move(doubt);
  } else if (thrown_ && !suspect_ && e.certainty != certainty::in_doubt) {
    std::rethrow_exception(std::exchange(thrown_, nullptr));
  } else if (e.certainty == certainty::in_doubt || suspect_) {
    e.certainty = certainty::in_doubt;
    e.advice = advice::resolve_first;
    if (e.attempts.empty()) e.attempts = {suspect_.value_or(attempt_)};
  } else {
    e.certainty = effect_started_ ? certainty::rolled_back : certainty::not_executed;
  }
  e = with_schema_hint(std::move(e));
  notify(observer_, "on_error", [&](observer& o) { o.on_error(e); });
  return std::unexpected(std::move(e));
}

result<outcome> run_operation::answer_with(outcome o) {
  bool const uncertain = std::holds_alternative<in_progress>(o) ||
                         (std::holds_alternative<refused>(o) && !std::get<refused>(o).stored);
  if (doubt_ && uncertain) return conclude(*doubt_);
  notify(observer_, "on_outcome", [&](observer& hook) { hook.on_outcome(o); });
  return o;
}

result<> check_run_options(run_options const& o) {
  using std::chrono::milliseconds;
  if (o.retry.max_attempts < 1 || o.retry.max_attempts > 1000)
    return invalid_argument("retry.max_attempts must be 1 to 1000");
  if (o.retry.base_delay < milliseconds::zero() || o.retry.max_delay < o.retry.base_delay)
    return invalid_argument("retry.base_delay must not be negative nor above retry.max_delay");
  if (o.retry.max_delay > std::chrono::hours(24))
    return invalid_argument("retry.max_delay must be at most 24 hours");
  if (o.wait_limit < milliseconds::zero() || o.wait_limit > std::chrono::hours(24))
    return invalid_argument("wait_limit must be 0 to 24 hours");
  if (!is_known(o.write_version))
    return invalid_argument("write_version " + std::to_string(o.write_version) +
                            " is not a fingerprint rule known to this version of idem");
  return {};
}

}  // namespace idem::inline v1::detail
