// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/kept_statement.h>
// FIX: operations whose effect is known before they begin.
#include <array>
#include <barrier>
#include <thread>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/wire.h"

namespace idem::inline v1::conformance {

namespace {

// FIX-01
void once_and_again(context& c) {
  auto& s = c.connect();
  auto& other = c.connect();
  std::vector<isolation> levels{isolation::engine_default};
  for (auto const& level : c.engine().levels()) levels.push_back(level.asked);
  for (auto const level : levels) {
    run_options options;
    options.isolation = level;
    auto const name = "level " + std::to_string(static_cast<int>(level));
    auto const op = c.make_operation(name);
    auto const first = c.run_fixed(s, op, options);
    check_executed(c, first, name + ": the first call");
    check_replayed(c, c.run_fixed(s, op, options), first, name + ": a repeat");
    check_replayed(c, c.run_fixed(other, op, options), first, name + ": on another session");
    check_replayed(c, c.run(other, op, options), first, name + ": by run");
    c.check_stored(op, 1, true);
  }
  auto const op = c.make_operation("by run before");
  auto const first = c.run(s, op);
  check_executed(c, first, "a call of run");
  check_replayed(c, c.run_fixed(other, op), first, "the same with a fixed effect");
  c.check_stored(op, 1, true);
}

// FIX-02
void other_content(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("content");
  check_executed(c, c.run_fixed(s, op), "the first call");
  auto const other = c.wrap(c.make_operation("content", "other payload").request);
  check_mismatched(c, c.run_fixed(s, other), "another request");
  check_mismatched(c, c.run_fixed(c.connect(), other), "another request on another session");
  c.check_stored(op, 1, true);
}

void failing(context& c, fixed_part last, errc expected, std::string const& what) {
  c.require(!c.engine().fixed(c.observer().sql(), last).empty(), what + ": a statement does it");
  auto& s = c.connect();
  auto const op = c.make_operation(what);
  auto const called = c.run_fixed(s, op, {}, last);
  if (check_failed(c, called, expected, what)) c.mark("statement_refused");
  c.check(!called.answered && called.answered.error().certainty == certainty::rolled_back,
          what + ": it is rolled back");
  c.check_stored(op, 0, false);
  check_executed(c, c.run_fixed(s, op), what + ": the next call");
  c.check_stored(op, 1, true);
}

// FIX-03
void failing_statements(context& c) {
  failing(c, fixed_part::break_constraint, errc::unique_violation, "a unique key of the effect's");
  // The reference's constraint at COMMIT is no statement's doing.
  if (!c.engine().fixed(c.observer().sql(), fixed_part::break_at_commit).empty())
    failing(c, fixed_part::break_at_commit, errc::constraint_violation, "a constraint at COMMIT");
}

// FIX-04
void ending_the_transaction(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("COMMIT among its statements");
  auto const called = c.run_fixed(s, op, {}, fixed_part::commit);
  c.check(!called.answered, "it is told an error; it was: " + called.name());
  check_executed(c, c.run_fixed(s, c.make_operation("without")), "the same without COMMIT");
  bool const doubtful =
      !called.answered && called.answered.error().certainty == certainty::in_doubt;
  if (!doubtful) {
    c.check_stored(op, 0, false);
    return;
  }
  auto const again = c.run_fixed(c.connect(), op);
  c.check(again.failed_with(errc::incomplete),
          "what it left is incomplete; it was: " + again.name());
  c.check_stored(op, 1, true);
}

void race(context& c, std::string const& key) {
  constexpr std::size_t callers = 4;
  auto const op = c.make_operation(key);
  std::array<session*, callers> sessions{};
  for (auto& s : sessions) s = &c.connect();
  std::array<call, callers> calls;
  std::barrier<> together(callers);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < callers; ++i)
      threads.emplace_back([&, i] {
        run_options patient;
        patient.wait_limit = std::chrono::seconds(30);
        together.arrive_and_wait();
        calls[i] = c.run_fixed(*sessions[i], op, patient);
      });
  }
  std::size_t first = 0;
  std::size_t again = 0;
  for (auto const& one : calls) {
    first += one.is<executed>() ? 1 : 0;
    again += one.is<replayed>() ? 1 : 0;
  }
  c.check(first == 1 && first + again == callers, key + ": one executes it, the others replay");
  c.check_stored(op, 1, true);
}

// FIX-05
void many_at_once(context& c) {
  constexpr int rounds = 10;
  for (int i = 0; i < rounds; ++i) race(c, "raced " + std::to_string(i));
  c.mark("raced");
  auto const op = c.make_operation("held");
  stepwise holder(c, c.connect(), op);
  c.must(holder.begin(), "another begins");
  c.require(c.must(holder.claim(), "another claims") == "claimed", "another holds the key");
  c.mark("key_held");
  run_options hasty;
  hasty.wait_limit = std::chrono::milliseconds(50);
  auto& s = c.connect();
  auto const called = c.run_fixed(s, op, hasty);
  if (c.engine().declared().contains(capability::wait_names_identity))
    c.check(called.is<in_progress>(), "the key is in progress; it was: " + called.name());
  else
    check_failed(c, called, errc::lock_timeout, "the call that waited");
  c.must(holder.effect(), "the other's effect");
  c.must(holder.complete(), "the other completes");
  c.must(holder.commit(), "the other commits");
  c.check(c.run_fixed(s, op).is<replayed>(), "then it is replayed");
  c.check_stored(op, 1, true);
}

// FIX-06
void hidden_record(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("hidden");
  c.must(c.engine().hide_record(c.observer(), op.request.identity(), true), "the record is hidden");
  auto const called = c.run_fixed(s, op);
  c.must(c.engine().hide_record(c.observer(), op.request.identity(), false), "it is so no more");
  check_failed(c, called, errc::record_invisible, "a call of a key whose record nobody sees");
  c.check_stored(op, 0, false);
  check_executed(c, c.run_fixed(s, op), "a call when it can be seen");
  c.check_stored(op, 1, true);
}

// FIX-07
void cut_fixed(context& c) {
  constexpr std::size_t fewest = 20;
  auto const all = cut_everywhere(
      c, [&c](session_source& sessions, operation const& op, run_options const& options) {
        return c.run_fixed(sessions, op, options);
      });
  if (all.cases >= fewest) c.mark("every_message_cut");
}

// FIX-08
void whole_under_way(context& c) {
  constexpr std::chrono::milliseconds patience{300};
  cut_wire wire(c);
  auto const op = c.make_operation("all of it under way");
  auto const sessions = wire.sessions(1);
  auto* const ready = c.must(sessions->acquire({}), "a session is opened before");
  sessions->release(ready, true);
  wire.between().arm({.way = direction::to_server,
                      .action = fault_action::hold,
                      .matches = [](message const& m) { return m.operation; }});
  auto const first = c.run_fixed(*sessions, op, one_attempt(patience));
  c.require(wire.between().fired(), "the operation is held");
  c.mark("operation_held");
  c.check(!first.answered && first.answered.error().certainty == certainty::in_doubt,
          "the first caller is told that it is in doubt; it was: " + first.name());
  auto& direct = c.connect();
  if (!first.answered) {
    auto const found = c.idem().resolve(direct, op.request, first.answered.error().attempts);
    c.check(found && std::holds_alternative<resolved::unproven>(*found),
            "nothing proves that it will not arrive");
  }
  check_executed(c, c.run_fixed(direct, op), "the next call");
  wire.between().release();
  bool const refused = c.await([&] { return wire.between().counts().to_client.messages['E'] > 0; });
  if (refused) c.mark("old_operation_reached_the_server");
  c.check_stored(op, 1, true);
}

void no_wire(context& c) {
  c.check(!c.engine().wire(), "there is no wire between client and engine");
  auto const op = c.make_operation("without a wire");
  check_executed(c, c.run_fixed(c.connect(), op), "a call");
  c.check_stored(op, 1, true);
}

}  // namespace

std::span<scenario const> fixed_scenarios() {
  static constexpr scenario all[] = {
      {"FIX-01", once_and_again},
      {"FIX-02", other_content},
      {"FIX-03", failing_statements},
      {"FIX-04", ending_the_transaction},
      {"FIX-05", many_at_once},
      {"FIX-06", hidden_record},
      {"FIX-07", cut_fixed, capability::wire, no_wire},
      {"FIX-08", whole_under_way, capability::wire, no_wire},
  };
  return all;
}

}  // namespace idem::inline v1::conformance
