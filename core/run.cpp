// SPDX-License-Identifier: BSL-1.0
#include "core/run.h"

#include <cxxabi.h>

#include <algorithm>
#include <utility>

#include "core/notify.h"

namespace idem::inline v1::detail {

namespace {

constexpr int max_invisible = 3;
constexpr std::chrono::microseconds noticeable_wait{1000};

bool calls_for_restart(error const& e) {
  return e.advice == advice::new_transaction || e.advice == advice::new_connection;
}

// Whatever happens inside, an open transaction does not outlive its attempt, and a session
// whose rollback failed is not used again.
class rollback_at_exit {
 public:
  rollback_at_exit(session_lease& lease, transaction_state& state)
      : lease_(&lease), state_(&state) {}
  rollback_at_exit(rollback_at_exit const&) = delete;
  rollback_at_exit& operator=(rollback_at_exit const&) = delete;
  ~rollback_at_exit() {
    auto ended = state_->rollback();
    if (ended) return;
    lease_->discard();
    state_->report("rollback", ended.error());
  }

 private:
  session_lease* lease_;
  transaction_state* state_;
};

}  // namespace

run_operation::run_operation(store_core const& core, session_source& source, request const& r,
                             effect_ref effect, run_options const& options,
                             fixed_effect const* fixed)
    : core_(core),
      source_(source),
      request_(r),
      effect_(effect),
      fixed_(fixed),
      options_(options),
      observer_(core.options.observer),
      limits_{options.deadline, options.stop, std::nullopt},
      random_(std::random_device{}()) {}

result<outcome> run_operation::go() {
  if (auto valid = check_run_options(options_); !valid)
    return std::unexpected(std::move(valid).error());
  for (int number = 1;; ++number) {
    if (auto patient = patience(); !patient) return conclude(std::move(patient).error());
    attempt_ = attempt_id::random(fixed_ != nullptr && !core_.sql.claim_or_fail.empty());
    attempts_.push_back(attempt_);
    thrown_ = nullptr;
    notify(observer_, "on_attempt", [&](observer& o) { o.on_attempt(attempt_, number); });
    auto answered = try_once();
    if (answered) return answer_with(std::move(*answered));
    error e = std::move(answered).error();
    remember_doubt(e);
    last_ = e;
    if (number >= options_.retry.max_attempts || !worth_another(e)) return last_look(std::move(e));
    auto const delay = backoff_delay(options_.retry, number, random_);
    notify(observer_, "on_retry", [&](observer& o) { o.on_retry(e, delay); });
    wait_for(delay, options_.deadline, options_.stop);  // patience() above says why it ended
  }
}

// A committed record is the truth until it is deleted, so a read that finds one needs no
// claim. A read that finds nothing, or fails for a passing reason, proves nothing. It waits for
// nobody: the caller's wait limit is the claim's.
std::optional<result<outcome>> run_operation::look(session& s) {
  sent_ = true;
  call_limits const no_wait{options_.deadline, options_.stop, std::chrono::milliseconds(0)};
  auto found = read_record(core_, s, request_.identity(), no_wait);
  if (!found) {
    if (is_transient(found.error()) || found.error().what == errc::lock_timeout)
      return std::nullopt;
    return at(std::move(found).error(), phase::claim, certainty::not_executed);
  }
  if (!*found) return std::nullopt;
  return judge_winner(**found);
}

result<outcome> run_operation::in_transaction(session_lease& lease) {
  begin_options const options{
      options_.isolation, false, {options_.deadline, options_.stop, options_.wait_limit}};
  claim_started_ = std::chrono::steady_clock::now();
  auto begun = lease->begin(options);
  if (!begun) {
    notify_wait();
    return at(std::move(begun).error(), phase::begin, certainty::not_executed);
  }
  state_ = std::make_shared<transaction_state>();
  state_->session = &*lease;
  state_->lent.emplace(*lease);
  state_->observer = observer_;
  state_->owner = transaction_owner::run;
  state_->limits = limits_;
  rollback_at_exit const ends(lease, *state_);
  return claim_and_run();
}

void run_operation::notify_wait() {
  auto const waited = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - claim_started_);
  if (waited < noticeable_wait) return;
  notify(observer_, "on_wait", [&](observer& o) { o.on_wait(waited); });
}

result<outcome> run_operation::claim_and_run() {
  sent_ = true;
  call_limits const waiting{options_.deadline, options_.stop, options_.wait_limit};
  claim_input const input{&request_, attempt_, options_.write_version,
                          options_.store_canonical_request, claim_savepoint::after};
  auto step = send_claim(core_, *state_->session, input, waiting);
  notify_wait();
  if (step) suspect_.reset();
  if (!step) {
    if (waited_for_identity(core_, step.error())) return outcome(in_progress{});
    return at(std::move(step).error(), phase::claim, certainty::not_executed);
  }
  if (auto const* winner = std::get_if<record>(&*step)) return judge_winner(*winner);
  if (std::holds_alternative<claim_invisible>(*step)) return not_visible();
  claimed();
  state_->open_claims.push_back(request_.identity());
  return after_claim();
}

result<outcome> run_operation::not_visible() {
  return std::unexpected(
      make_error(errc::record_invisible, phase::claim,
                 ++invisible_ < max_invisible ? advice::new_transaction : advice::never,
                 "the key is taken but its record cannot be read: look for row security, a "
                 "trigger or a view in place of idem's table"));
}

result<outcome> run_operation::after_claim() {
  if (!core_.facts.pipelines) {
    if (auto marked = run_one(*state_->session, core_.sql.savepoint, limits_); !marked)
      return at(std::move(marked).error(), phase::claim, certainty::not_executed);
  }
  if (pending_refusal_) return finish(record_state::refused, *pending_refusal_);
  return run_effect();
}

result<outcome> run_operation::run_effect() {
  effect_started_ = true;
  std::optional<result<answer>> answered;
  transaction tx = transaction_state::make(state_);
  try {
    answered = effect_(tx);
#ifdef __GLIBCXX__
  } catch (abi::__forced_unwind const&) {
    throw;  // the thread ends (pthread_exit, pthread_cancel): who keeps that ends the process
#endif
  } catch (...) {
    thrown_ = std::current_exception();
  }
  if (thrown_) return effect_threw();
  if (!*answered) return effect_failed(std::move(*answered).error());
  if (auto intact = check_after_effect(); !intact)
    return at(std::move(intact).error(), phase::effect, intact.error().certainty);
  if (auto* no = std::get_if<refusal>(&**answered)) return refuse(std::move(no->response));
  return finish(record_state::completed, std::move(std::get<response>(**answered)));
}

result<outcome> run_operation::effect_failed(error e) {
  auto const& cause = state_->restart_cause;
  if (!calls_for_restart(e) && cause) e = *cause;
  // Whatever a nested call said of itself, this transaction is rolled back.
  if (e.advice == advice::resolve_first) e.advice = advice::never;
  if (e.what == errc::transaction_replaced) e.attempts.clear();  // another claim's
  return what_stays(std::move(e));
}

// The transaction's own transient error is the server's word on it. Any other proves nothing; it
// is started again all the same, for the next claim meets what was left, if there is a next one.
result<outcome> run_operation::what_stays(error e) {
  bool const restarts = calls_for_restart(e);
  if (!restarts || !state_->restart_cause) {
    auto same = prove_same_transaction(e);
    if (!same && same.error().what == errc::transaction_replaced) suspect_ = attempt_;
    if (!same && !restarts) return std::unexpected(std::move(same).error());
  }
  return at(std::move(e), phase::effect, certainty::rolled_back);
}

// "Nothing of it stays" is true of the claim's own transaction only. Where the handle can
// commit, the savepoint of the claim tells whether this is still that one. An error that
// prevents the proof starts the transaction again: the next claim meets what was left.
result<void> run_operation::prove_same_transaction(error const& failure) {
  auto& s = *state_->session;
  if (s.guards_commit() || state_->savepoint == savepoint_place::gone) return {};
  auto status = s.status();
  if (!status) return at(std::move(status).error(), phase::effect, certainty::rolled_back);
  bool gone = false;
  if (*status == transaction_status::idle) {
    gone = !state_->ended_by_failure.value_or(false);
  }
  if (*status == transaction_status::open ||
      (*status == transaction_status::failed && core_.facts.failed_statement_aborts_transaction)) {
    auto back = run_one(s, core_.sql.rollback_to_savepoint, limits_);
    if (!back && calls_for_restart(back.error()))
      return at(std::move(back).error(), phase::effect, certainty::rolled_back);
    gone = !back && means_replaced(back.error());
  }
  if (!gone) return {};
  error e =
      make_error(errc::transaction_replaced, phase::effect, advice::never,
                 "the effect ended the transaction and then failed or said no: an effect must not "
                 "commit or roll back");
  e.native = failure.native;
  return std::unexpected(std::move(e));
}

// The exception may hide a transient database error: our own says so; for any other the
// transaction's memory and the handle's state do. `conclude` rethrows it if it is final and
// nothing of the effect stays.
result<outcome> run_operation::effect_threw() {
  auto cause = state_->restart_cause;
  error threw =
      make_error(errc::statement_failed, phase::effect, advice::never, "the effect threw");
  auto const look_at_handle = [&] {
    auto pending = state_->session->pending_error();
    if (cause || !pending || !calls_for_restart(*pending)) return;
    cause = std::move(pending);
    if (!state_->ended_by_failure) state_->ended_by_failure = true;  // if it is ended
  };
  try {
    std::rethrow_exception(thrown_);
  } catch (std::bad_expected_access<error> const& e) {
    if (!cause && calls_for_restart(e.error())) cause = e.error();
    threw.native = e.error().native;
  } catch (std::exception const& e) {
    look_at_handle();
    threw.native.message = e.what();
  } catch (...) {
    look_at_handle();
  }
  return what_stays(cause ? std::move(*cause) : std::move(threw));
}

result<void> run_operation::check_after_effect() {
  auto fail = [](errc what, advice next, std::string message) {
    error e = make_error(what, phase::effect, next, std::move(message));
    e.certainty = certainty::rolled_back;
    return std::unexpected(std::move(e));
  };
  if (state_->restart_cause)
    return at(*state_->restart_cause, phase::effect, certainty::rolled_back);
  if (state_->doomed) return at(*state_->doomed, phase::effect, certainty::rolled_back);
  if (state_->open_claims.size() > 1)
    return fail(errc::transaction_aborted, advice::never,
                "the effect claimed another identity and did not complete it");
  auto status = state_->session->status();
  if (!status) return at(std::move(status).error(), phase::effect, certainty::rolled_back);
  if (*status == transaction_status::open) return {};
  if (auto pending = state_->session->pending_error(); pending && calls_for_restart(*pending))
    return at(std::move(*pending), phase::effect, certainty::rolled_back);
  switch (*status) {
    case transaction_status::failed:
      return fail(errc::transaction_aborted, advice::never,
                  "a statement of the effect failed and ended the transaction, and the effect "
                  "went on: nothing of it is kept");
    case transaction_status::idle:
      return fail(errc::transaction_replaced, advice::never,
                  "the effect ended the transaction: an effect must not commit or roll back");
    case transaction_status::busy:
      return fail(errc::session_not_idle, advice::never,
                  "the effect left unread results on the session: read or close them");
    default:
      return fail(errc::connection_lost, advice::new_connection,
                  "the connection was lost during the effect");
  }
}

result<outcome> run_operation::refuse(response r) {
  if (options_.refusals == refusal_policy::roll_back) {
    if (auto same = prove_same_transaction({}); !same)
      return std::unexpected(std::move(same).error());
    return outcome(refused{std::move(r), false});
  }
  if (auto fits = check_response(core_, r); !fits) return too_large(std::move(fits).error());
  auto undone = undo_effect();
  if (undone) return finish(record_state::refused, std::move(r));
  // Without the savepoint the effect's writes can only be undone with the claim: claim again
  // and store the refusal without running the effect a second time.
  pending_refusal_ = std::move(r);
  error e = std::move(undone).error();
  // Should the effect have committed, the next claim meets what it left.
  if (means_replaced(e) && !state_->session->guards_commit()) suspect_ = attempt_;
  if (e.advice == advice::never) e.advice = advice::new_transaction;
  return at(std::move(e), phase::effect, certainty::rolled_back);
}

result<void> run_operation::undo_effect() {
  if (state_->savepoint == savepoint_place::at_claim)
    return run_one(*state_->session, core_.sql.rollback_to_savepoint, limits_);
  return std::unexpected(make_error(errc::transaction_aborted, phase::effect,
                                    advice::new_transaction,
                                    "the effect completed a claim of its own, so its writes can "
                                    "only be undone with the whole transaction"));
}

result<outcome> run_operation::too_large(error e) {
  if (auto same = prove_same_transaction({}); !same)
    return std::unexpected(std::move(same).error());
  return at(std::move(e), phase::save, certainty::rolled_back);
}

result<outcome> run_operation::finish(record_state as, response r) {
  if (auto fits = check_response(core_, r); !fits) return too_large(std::move(fits).error());
  auto committed =
      save_and_commit(core_, *state_->session, request_.identity(), attempt_, as, r, limits_);
  if (committed) {
    state_->ended = true;
    if (as == record_state::refused) return outcome(refused{std::move(r), true});
    return outcome(executed{std::move(r), attempt_});
  }
  error e = std::move(committed).error();
  if (e.phase != phase::save) e.phase = phase::commit;
  if (!e.attempts.empty()) {  // the save met another transaction, or no row: nobody could say
    if (!state_->session->guards_commit()) suspect_ = attempt_;
    e.attempts.clear();
    e.certainty = certainty::rolled_back;
    return std::unexpected(std::move(e));
  }
  if (e.certainty == certainty::in_doubt)
    doubt_commit(e);
  else
    e.certainty = certainty::rolled_back;
  return std::unexpected(std::move(e));
}

result<outcome> run_operation::judge_winner(record const& winner) {
  bool const ours = std::ranges::find(attempts_, winner.attempt) != attempts_.end();
  if (ours && winner.state == record_state::completed)
    return outcome(executed{winner.response, winner.attempt});
  if (ours && winner.state == record_state::refused) return outcome(refused{winner.response, true});
  auto judged = judge(winner, request_);
  if (!judged && ours) {
    // An effect of this run committed by itself: it may stay, and no response is known.
    judged.error().attempts = {winner.attempt};
    return at(std::move(judged).error(), phase::claim, certainty::in_doubt);
  }
  if (!judged) return at(std::move(judged).error(), phase::claim, certainty::not_executed);
  return std::visit([](auto&& o) { return outcome(std::move(o)); }, std::move(*judged));
}

}  // namespace idem::inline v1::detail
