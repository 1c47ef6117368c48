// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/meetings.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/held.h"

namespace idem::inline v1::conformance {

namespace {

// An answer to a call that was not to wait, where the engine says so by an outcome or by an
// error.
bool is_busy(call const& called) {
  return called.is<in_progress>() || called.failed_with(errc::lock_timeout);
}

}  // namespace

run_options patient() {
  run_options options;
  options.wait_limit = std::chrono::seconds(20);
  return options;
}

bool meet_two(context& c, session& first, session& second, std::string const& key,
              run_options const& options) {
  auto const op = c.make_operation(key);
  held_operation holder(c, first, op, held_operation::at::after_write, options);
  c.require(holder.await_held(), "the first call is in its effect");
  background waiter([&] { return c.run(second, op, options); });
  bool met = waiter.await_blocked(c, second);
  auto const held = holder.commit();
  auto later = waiter.get();
  if (is_busy(later) && holder.was_open()) {
    met = true;
    later = c.run(second, op, options);
  }
  check_executed(c, held, "the first call");
  check_replayed(c, later, held, "the second call");
  c.check(c.body_calls(op) == 1, "the effect runs once");
  c.check_stored(op, 1, true);
  return met;
}

bool roll_back_before_waiter(context& c, std::string const& key, run_options const& options) {
  auto& second = c.connect();
  auto const op = c.make_operation(key);
  held_operation holder(c, c.connect(), op, held_operation::at::after_write, options);
  c.require(holder.await_held(), "the first call is in its effect");
  background waiter([&] { return c.run(second, op, options); });
  bool const waited =
      c.check(waiter.await_blocked(c, second), "the second call waits for the first");
  check_failed(c, holder.fail(), errc::statement_failed, "the first call");
  c.check(holder.was_open(), "its transaction was open until then");
  auto const later = waiter.get();
  check_executed(c, later, "the second call");
  c.check(c.body_calls(op) == 2, "the effect runs once for each");
  c.check_stored(op, 1, true);
  check_replayed(c, c.run(second, op), later, "the next call");
  return waited;
}

bool meet_three(context& c, contract& watched, std::array<session*, 3> const& sessions,
                std::string const& key, run_options const& options) {
  auto const op = c.make_operation(key);
  held_operation holder(c, *sessions[0], op, held_operation::at::after_write, options);
  c.require(holder.await_held(), "the first call is in its effect");
  background second([&] { return run_on(c, watched, *sessions[1], op, options); });
  background third([&] { return run_on(c, watched, *sessions[2], op, options); });
  bool const both = second.await_blocked(c, *sessions[1]) && third.await_blocked(c, *sessions[2]);
  c.check(both, "two calls wait for the first");
  check_failed(c, holder.fail(), errc::statement_failed, "the first call");
  auto const b = second.get(), d = third.get();
  bool const b_ran = b.is<executed>();
  check_executed(c, b_ran ? b : d, "one of the two");
  check_replayed(c, b_ran ? d : b, b_ran ? b : d, "the other one");
  c.check(c.body_calls(op) == 2, "the effect runs for the first and for one of the two");
  c.check_stored(op, 1, true);
  return both;
}

void meet_many(context& c, std::string const& prefix, run_options options) {
  constexpr std::size_t workers = 4, keys = 10;
  options.retry.max_attempts = 500;
  options.retry.max_delay = std::chrono::milliseconds(20);
  std::vector<operation> ops;
  for (std::size_t i = 0; i < keys; ++i)
    ops.push_back(c.make_operation(prefix + std::to_string(i)));
  std::vector<std::vector<call>> calls(workers, std::vector<call>(keys));
  {
    std::vector<std::jthread> running;
    for (std::size_t w = 0; w < workers; ++w)
      running.emplace_back([&, w, seed = c.random()(), s = &c.connect()] {
        std::vector<std::size_t> order(keys);
        for (std::size_t i = 0; i < keys; ++i) order[i] = i;
        std::ranges::shuffle(order, std::mt19937_64(seed));
        for (auto const i : order) calls[w][i] = c.run(*s, ops[i], options);
      });
  }
  for (std::size_t i = 0; i < keys; ++i) {
    std::size_t ran = 0, repeated = 0;
    for (auto const& of_worker : calls) {
      ran += of_worker[i].is<executed>() ? 1 : 0;
      repeated += of_worker[i].is<replayed>() ? 1 : 0;
      if (!of_worker[i].answered) c.log(describe(of_worker[i].answered.error()));
    }
    c.check(ran == 1 && repeated == workers - 1,
            "of " + std::to_string(workers) + " calls one is executed, the others are replayed; " +
                std::to_string(ran) + " and " + std::to_string(repeated) + " were");
    c.check_stored(ops[i], 1, true);
  }
}

}  // namespace idem::inline v1::conformance
