// SPDX-License-Identifier: BSL-1.0
// CON: calls that meet. The key decides, and what is not decided by it does not wait.
#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/concurrency_parts.h"
#include "conformance/scenarios/cross_order.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/meetings.h"

namespace idem::inline v1::conformance {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// CON-01
void two_callers(context& c) {
  auto& first = c.connect();
  auto& second = c.connect();
  for (int round = 0; round < 5; ++round)
    if (meet_two(c, first, second, "round " + std::to_string(round), patient()))
      c.mark("second_call_waited_or_was_told");
}

// CON-03
void holder_rolls_back(context& c) {
  if (roll_back_before_waiter(c, "rolled back", patient())) c.mark("blocked_before_rollback");
}

// CON-04
struct deadlock_watch final : idem::observer {
  context& c;
  explicit deadlock_watch(context& ctx) : c(ctx) {}
  void on_retry(error const& e, milliseconds) override {
    if (e.what == errc::deadlock) c.mark("deadlock_seen");
  }
};

void three_callers(context& c) {
  deadlock_watch watch(c);
  auto const watched = watched_contract(c, watch);
  std::array const sessions{&c.connect(), &c.connect(), &c.connect()};
  for (int round = 0; round < 5; ++round)
    if (meet_three(c, *watched, sessions, "round " + std::to_string(round), patient()))
      c.mark("both_blocked");
}

// CON-05
bool claims_without_waiting(context& c, session& s, operation const& op, bool names) {
  stepwise steps(c, s, op);
  auto const begun = steps.begin(milliseconds(0));
  if (!begun) {
    c.note(op, told::failed);
    return !names && begun.error().what == errc::lock_timeout;
  }
  auto const claimed = steps.claim(milliseconds(0));
  if (names) return claimed && *claimed == "in_progress";
  return !claimed && claimed.error().what == errc::lock_timeout;
}

struct unwaited {
  call called;
  bool claimed = false;
  milliseconds took{0};
};

unwaited call_without_waiting(context& c, session& s, operation const& op, bool names) {
  run_options options;
  options.wait_limit = milliseconds(0);
  auto const began = std::chrono::steady_clock::now();
  unwaited u;
  u.called = c.run(s, op, options);
  u.claimed = claims_without_waiting(c, s, op, names);
  u.took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  return u;
}

void no_wait(context& c) {
  // Of several, the quickest: a busy machine may delay one, a wait delays all.
  constexpr int rounds = 3;
  constexpr milliseconds quickly{200};
  bool const names = c.engine().declared().contains(capability::wait_names_identity);
  auto& second = c.connect();
  auto const op = c.make_operation("held");
  held_operation holder(c, c.connect(), op, held_operation::at::before_write);
  c.require(holder.await_held(), "the first call is in its effect");
  auto took = milliseconds::max();
  for (int i = 0; i < rounds; ++i) {
    auto const busy = call_without_waiting(c, second, op, names);
    took = std::min(took, busy.took);
    c.require(
        names ? busy.called.is<in_progress>() : busy.called.failed_with(errc::lock_timeout),
        "the second call is told that it is busy, as declared; it was: " + busy.called.name());
    c.check(busy.claimed, "a claim in the caller's transaction is told the same");
  }
  c.check(took < quickly, "without waiting; it took " + std::to_string(took.count()) + " ms");
  c.check(c.body_calls(op) == 0, "no effect was run for it");
  auto const held = holder.commit();
  check_executed(c, held, "the first call");
  if (c.check(holder.was_open(), "its transaction was open all the while"))
    c.mark("busy_while_holder_open");
  run_options options;
  options.wait_limit = milliseconds(0);
  check_replayed(c, c.run(second, op, options), held, "the next call without waiting");
  c.check_stored(op, 1, true);
}

// CON-06
void other_keys_go_on(context& c) {
  constexpr int others = 50;
  auto& second = c.connect();
  auto const op = c.make_operation("held");
  held_operation holder(c, c.connect(), op, held_operation::at::before_write);
  c.require(holder.await_held(), "the first call is in its effect");
  run_options options;
  options.wait_limit = milliseconds(2000);
  int executed_others = 0;
  for (int i = 0; i < others; ++i) {
    auto const other = c.make_operation("other-" + std::to_string(i));
    auto const called = c.run(second, other, options);
    c.require(called.is<executed>(), "another key is executed; it was: " + called.name());
    c.check_stored(other, 1, true);
    ++executed_others;
  }
  check_executed(c, holder.commit(), "the first call");
  if (c.check(holder.was_open() && executed_others == others,
              "they are committed while the first call's transaction is open"))
    c.mark("fifty_committed_beside_holder");
  c.check_stored(op, 1, true);
}

void other_keys_wait(context& c) {
  auto& second = c.connect();
  auto const op = c.make_operation("held");
  auto const other = c.make_operation("other");
  held_operation holder(c, c.connect(), op, held_operation::at::before_write);
  c.require(holder.await_held(), "the first call is in its effect");
  background waiter([&] { return c.run(second, other, patient()); });
  c.check(waiter.await_blocked(c, second), "a call for another key waits");
  c.check(!waiter.done(), "it is not answered before the first call has ended");
  check_executed(c, holder.commit(), "the first call");
  check_executed(c, waiter.get(), "the call for another key");
  c.check_stored(op, 1, true);
  c.check_stored(other, 1, true);
}

// CON-08: the caller's own transactions.
bool is_typed(error const& e) {
  return is_transient(e) || e.what == errc::transaction_aborted || e.what == errc::deadlock ||
         e.what == errc::lock_timeout || e.what == errc::serialization_failure;
}

result<> cross_once(cross_order& keys, std::size_t side) {
  begin_options options;
  options.limits.wait_limit = seconds(20);
  auto tx = transaction::begin(keys.of(side), options);
  if (!tx) return std::unexpected(std::move(tx).error());
  if (auto taken = keys.take_both(*tx, side); !taken) return taken;
  return tx->commit();
}

bool cross_until_done(context& c, cross_order& keys, std::size_t side) {
  constexpr int most_attempts = 10;
  bool done = false;
  for (int i = 0; i < most_attempts && !done; ++i) {
    auto const crossed = cross_once(keys, side);
    done = crossed.has_value();
    if (done) keys.committed(side);
    if (!done)
      c.check(is_typed(crossed.error()),
              "the error is one to start over on: " + describe(crossed.error()));
  }
  keys.gave_up(side);
  return done;
}

void opposite_orders(context& c) {
  cross_order keys(c);
  std::array<bool, 2> done{};
  auto const began = std::chrono::steady_clock::now();
  {
    std::jthread const one([&] { done[0] = cross_until_done(c, keys, 0); });
    std::jthread const other([&] { done[1] = cross_until_done(c, keys, 1); });
  }
  c.check(done[0] && done[1], "both transactions come to an end");
  c.check(std::chrono::steady_clock::now() - began < seconds(30), "in time");
  c.check(keys.crossed(), "each has taken a key");
  if (keys.waited() || keys.deadlocks() > 0) c.mark("waited_or_deadlocked");
  c.check_stored(keys.key(0), 1, true);
  c.check_stored(keys.key(1), 1, true);
}

// CON-15
struct nested_calls {
  context& c;
  session& s;
  session_source& source;
  operation outer;
  operation inner;
  bool called = false;

  void expect_refused(call const& nested, std::string const& what) const {
    check_failed(c, nested, errc::session_not_idle, what);
    c.check(!nested.answered && nested.answered.error().certainty == certainty::not_executed,
            what + " is refused before anything is sent");
  }
  result<answer> effect(transaction& tx) {
    auto nonce = c.write_effect(tx, outer);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    called = true;
    auto const before = c.engine().transaction_id(s);
    expect_refused(c.run(s, inner), "a call with another key on the session in use");
    expect_refused(c.run(source, inner), "a call with another key from the source in use");
    lone_session own(s);
    auto const same = c.idem().run(own, outer.request, c.standard_effect(outer), {});
    c.check(!same && same.error().what == errc::session_not_idle, "so is one with the same key");
    auto const claimed = c.idem().claim(tx, outer.request, {});
    c.check(!claimed && claimed.error().what == errc::claim_open,
            "a claim of the same key is told that it is open");
    auto const after = c.engine().transaction_id(s);
    c.check(before && after && !before->empty() && *before == *after,
            "the outer transaction is as it was");
    return answer(c.response_with(std::move(*nonce)));
  }
};

void nested_call(context& c) {
  auto& s = c.connect();
  lone_session source(s);
  nested_calls nested{c, s, source, c.make_operation("outer"), c.make_operation("inner")};
  auto const began = std::chrono::steady_clock::now();
  auto const outer =
      c.run(source, nested.outer, [&](transaction& tx) { return nested.effect(tx); });
  c.require(nested.called, "the outer effect makes its calls");
  c.mark("nested_while_open");
  c.check(std::chrono::steady_clock::now() - began < seconds(5), "nothing waits for itself");
  check_executed(c, outer, "the outer call");
  c.check(c.body_calls(nested.outer) == 1, "its effect runs once");
  c.check_stored(nested.outer, 1, true);
  c.check_stored(nested.inner, 0, false);
  check_executed(c, c.run(s, nested.inner), "the inner call, made afterwards");
}

// CON-18
class hidden_record {
 public:
  hidden_record(context& c, session& s, operation const& op) : context_(c), session_(s), op_(op) {
    c.must(c.engine().hide_record(s, op.request.identity(), true), "the record is hidden");
  }
  hidden_record(hidden_record const&) = delete;
  hidden_record& operator=(hidden_record const&) = delete;
  ~hidden_record() {
    auto const shown = context_.engine().hide_record(session_, op_.request.identity(), false);
    context_.check(shown.has_value(), "the record is no longer hidden");
  }

 private:
  context& context_;
  session& session_;
  operation op_;
};

void never_visible(context& c, session& s) {
  auto const op = c.make_operation("never visible");
  {
    hidden_record const hidden(c, s, op);
    auto const began = std::chrono::steady_clock::now();
    auto const called = c.run(s, op);
    if (check_failed(c, called, errc::record_invisible, "a call that conflicts with no record"))
      c.mark("conflict_without_row");
    c.check(std::chrono::steady_clock::now() - began < seconds(10), "claiming again is bounded");
    stepwise steps(c, s, op);
    c.must(steps.begin(), "the transaction begins");
    auto const claimed = steps.claim();
    c.check(!claimed && claimed.error().what == errc::record_invisible,
            "a claim in the caller's transaction is told the same");
    c.must(steps.rollback(), "it is rolled back");
    c.check(c.body_calls(op) == 0, "no effect is run");
  }
  c.check_stored(op, 0, false);
  check_executed(c, c.run(s, op), "the call when nothing is hidden");
  c.check_stored(op, 1, true);
}

void visible_before(context& c, session& s) {
  auto const op = c.make_operation("visible before");
  auto const first = c.run(s, op);
  check_executed(c, first, "the first call");
  {
    hidden_record const hidden(c, s, op);
    auto const called = c.run(s, op);
    c.check(called.is<replayed>() || called.failed_with(errc::record_invisible),
            "the truth or record_invisible; it was: " + called.name());
  }
  check_replayed(c, c.run(s, op), first, "the call when nothing is hidden");
  c.check(c.body_calls(op) == 1, "the effect ran once");
  c.check_stored(op, 1, true);
}

void invisible_record(context& c) {
  auto& s = c.connect();
  never_visible(c, s);
  visible_before(c, s);
}

constexpr std::array all{
    scenario{"CON-01", two_callers, std::nullopt, nullptr},
    scenario{"CON-02", many_workers, std::nullopt, nullptr},
    scenario{"CON-03", holder_rolls_back, std::nullopt, nullptr},
    scenario{"CON-04", three_callers, std::nullopt, nullptr},
    scenario{"CON-05", no_wait, std::nullopt, nullptr},
    scenario{"CON-06", other_keys_go_on, capability::concurrent_writers, other_keys_wait},
    scenario{"CON-08", opposite_orders, std::nullopt, nullptr},
    scenario{"CON-10", four_processes, capability::processes, no_other_process},
    scenario{"CON-13", every_interleaving, std::nullopt, nullptr},
    scenario{"CON-14", named_locks_end, capability::named_locks, no_named_locks},
    scenario{"CON-15", nested_call, std::nullopt, nullptr},
    scenario{"CON-18", invisible_record, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> concurrency_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
