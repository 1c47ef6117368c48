// SPDX-License-Identifier: BSL-1.0
// POL-05, POL-06, POL-09: sessions that died, that are not fit for use, or that are not there.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/links.h"
#include "conformance/scenarios/pool_parts.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

call_limits within(milliseconds limit) {
  call_limits limits;
  limits.deadline = steady_clock::now() + limit;
  return limits;
}

run_options run_within(milliseconds limit) {
  run_options options;
  options.deadline = steady_clock::now() + limit;
  return options;
}

// POL-05
void check_runs_once(context& c, session_source& pool, std::string const& what) {
  auto const op = c.make_operation(what);
  auto const called = c.run(pool, op);
  check_executed(c, called, what + ": the next call of the pool");
  c.check(c.body_calls(op) == 1, what + ": its effect runs once");
  c.check_stored(op, 1, true);
  check_replayed(c, c.run(pool, op), called, what + ": the call after it");
}

void cut_while_idle(context& c, bool noticed) {
  std::string const what = noticed ? "cut" : "cut without the driver's noticing";
  cuttable_pool pool(c);
  check_executed(c, c.run(pool.source(), c.make_operation(what + ", before")), "a first call");
  c.require(pool.opened() == 1, "the pool has one session");
  pool.last().cut(noticed);
  check_runs_once(c, pool.source(), what);
  if (c.check(pool.opened() == 2, what + ": the pool has opened another")) c.mark("idle_cut");
}

void cut_without_another(context& c) {
  auto below =
      std::make_unique<cuttable_session>(c.must(c.engine().connect(), "a session is opened"));
  auto& link = *below;
  auto const top = c.idem().adapt(std::move(below));
  link.cut(false);
  auto const op = c.make_operation("no other connection");
  run_options options;
  options.retry.max_attempts = 2;
  options.retry.base_delay = milliseconds(1);
  auto const called = c.run(*top, op, options);
  check_failed(c, called, errc::connection_lost, "a call without another connection");
  c.check(!called.answered && called.answered.error().certainty == certainty::not_executed,
          "nothing was executed");
  c.check(c.body_calls(op) == 0, "no effect was run");
  c.check_stored(op, 0, false);
}

void killed_while_idle(context& c) {
  session* idle = nullptr;
  auto& pool = c.make_pool(1);
  check_executed(c, c.run(pool, c.make_operation("killed, before")), "a first call");
  {
    auto lease = session_lease::acquire(pool, within(seconds(5)));
    c.require(lease.has_value(), "the pool has its session");
    idle = &**lease;
  }
  c.must(c.engine().kill_session(*idle), "the server ends it");
  c.mark("killed_by_server");
  check_runs_once(c, pool, "killed by the server");
}

// POL-06
bool leave_in_pool(context& c, session_source& pool) {
  auto lease = session_lease::acquire(pool, within(seconds(5)));
  c.require(lease.has_value(), "the pool has a session");
  c.must(c.engine().leave_unread(**lease), "its user leaves a result unread");
  auto const status = (*lease)->status();
  return !status || *status != transaction_status::idle;
}

void left_by_effect(context& c, session_source& pool) {
  auto const op = c.make_operation("left by an effect");
  auto const called = c.run(pool, op, [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    if (auto left = c.engine().leave_unread(tx.session()); !left)
      return std::unexpected(std::move(left).error());
    return answer(c.response_with(std::move(*nonce)));
  });
  if (called.answered) {
    check_executed(c, called, "a call whose effect leaves a result, which does no harm here");
    c.check_stored(op, 1, true);
    return;
  }
  check_failed(c, called, errc::session_not_idle, "a call whose effect leaves a result");
  c.check(called.answered.error().certainty == certainty::rolled_back, "nothing of it stays");
  c.check_stored(op, 0, false);
}

// POL-09
void check_exhausted(context& c, call const& called, errc code, operation const& op,
                     milliseconds took, std::string const& what) {
  check_failed(c, called, code, what);
  c.check(!called.answered && called.answered.error().certainty == certainty::not_executed,
          what + ": nothing is executed");
  c.check(c.body_calls(op) == 0, what + ": no effect is run");
  c.check(took < seconds(5), what + ": in time; it took " + std::to_string(took.count()) + " ms");
}

milliseconds since(steady_clock::time_point began) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - began);
}

void all_lent(context& c) {
  constexpr milliseconds patience{100};
  auto& pool = c.make_pool(2);
  auto const op = c.make_operation("all lent");
  call waited;
  {
    auto one = session_lease::acquire(pool, within(seconds(5)));
    auto two = session_lease::acquire(pool, within(seconds(5)));
    c.require(one && two, "the pool's two sessions are taken");
    auto const began = steady_clock::now();
    auto const called = c.run(pool, op, run_within(patience));
    check_exhausted(c, called, errc::resource_exhausted, op, since(began),
                    "a call of an exhausted pool");
    c.mark("pool_exhausted");
    c.check_stored(op, 0, false);
  }
  waited = c.run(pool, op, run_within(seconds(20)));
  check_executed(c, waited, "the same call when sessions have come back");
  c.check_stored(op, 1, true);
}

// An operation inside another one's effect, out of the same pool, which has no session left.
void nested_out_of_one_pool(context& c) {
  constexpr milliseconds patience{100};
  auto& pool = c.make_pool(1);
  auto const outer = c.make_operation("outer");
  auto const inner = c.make_operation("inner");
  auto const called = c.run(pool, outer, [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, outer);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    auto const began = steady_clock::now();
    auto const nested = c.run(pool, inner, run_within(patience));
    // It would wait for the call around it: there is nothing to wait for.
    check_exhausted(c, nested, errc::session_not_idle, inner, since(began),
                    "a nested call of an exhausted pool");
    c.mark("nested_exhausted");
    return answer(c.response_with(std::move(*nonce)));
  });
  check_executed(c, called, "the outer call");
  c.check_stored(outer, 1, true);
  c.check_stored(inner, 0, false);
  check_executed(c, c.run(pool, inner, run_within(seconds(20))), "the inner call, afterwards");
  c.check_stored(inner, 1, true);
}

// Who waits gets the session that comes back.
void waits_for_one(context& c) {
  auto& pool = c.make_pool(1);
  auto const op = c.make_operation("waited for");
  std::unique_ptr<background> waiter;
  {
    auto lease = session_lease::acquire(pool, within(seconds(5)));
    c.require(lease.has_value(), "the pool's session is taken");
    waiter = std::make_unique<background>([&] { return c.run(pool, op, run_within(seconds(20))); });
    c.check(!waiter->await_done(c, milliseconds(50)), "a call waits for it");
  }
  check_executed(c, waiter->get(), "the call that waited");
  c.check_stored(op, 1, true);
}

}  // namespace

void idle_session_died(context& c) {
  cut_while_idle(c, true);
  cut_while_idle(c, false);
  cut_without_another(c);
  if (c.engine().declared().contains(capability::kill_session)) return killed_while_idle(c);
  auto& s = c.connect();
  c.check(!c.engine().kill_session(s) && s.status() == transaction_status::idle,
          "this engine has no server that could end a session");
}

void unread_results(context& c) {
  auto& pool = c.make_pool(1);
  auto const before = c.run(pool, c.make_operation("before"));
  check_executed(c, before, "a call before");
  if (c.check(leave_in_pool(c, pool), "the session is not idle when it is given back"))
    c.mark("unread_seen");
  auto const next = c.make_operation("next");
  auto const called = c.run(pool, next);
  check_executed(c, called, "the next call of the pool");
  c.check_stored(next, 1, true);
  check_replayed(c, c.run(pool, next), called, "the call after it");
  left_by_effect(c, pool);
  auto const last = c.make_operation("last");
  check_executed(c, c.run(pool, last), "a call after that");
  c.check_stored(last, 1, true);
}

void nothing_unread(context& c) {
  auto& s = c.connect();
  c.check(!c.engine().leave_unread(s), "nothing can be left unread on a session");
  for (int i = 0; i < 3; ++i) {
    auto const op = c.make_operation("call " + std::to_string(i));
    check_executed(c, c.run(s, op), "a call");
    check_idle(c, s, "after a call");
    c.check_stored(op, 1, true);
  }
}

void pool_exhausted(context& c) {
  all_lent(c);
  nested_out_of_one_pool(c);
  waits_for_one(c);
}

}  // namespace idem::inline v1::conformance
