// SPDX-License-Identifier: BSL-1.0
// ISO at every level that there is: ISO-01, ISO-05, ISO-06.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/isolation_parts.h"
#include "conformance/scenarios/meetings.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::array<std::pair<isolation, std::string_view>, 6> level_names{{
    {isolation::engine_default, "the engine's default"},
    {isolation::read_uncommitted, "read uncommitted"},
    {isolation::read_committed, "read committed"},
    {isolation::repeatable_read, "repeatable read"},
    {isolation::snapshot, "snapshot"},
    {isolation::serializable, "serializable"},
}};

bool is_taken(context& c, isolation level) {
  auto const levels = c.engine().levels();
  return level == isolation::engine_default ||
         std::ranges::find(levels, level, &isolation_level::asked) != levels.end();
}

run_options patient_at(isolation level) {
  run_options options = patient();
  options.isolation = level;
  return options;
}

// What the server says of the transaction while the effect runs.
call run_and_ask_level(context& c, session& s, operation const& op, isolation level,
                       std::string& shown) {
  auto const effect = [&](transaction& tx) -> result<answer> {
    shown = c.engine().isolation_of(tx.session()).value_or("not told");
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(c.response_with(std::move(*nonce)));
  };
  return c.run(s, op, effect, patient_at(level));
}

void core_at_level(context& c, isolation_level const& level) {
  std::string const name = name_of(level.asked);
  auto const options = patient_at(level.asked);
  auto& here = c.connect();
  auto& there = c.connect();
  auto const op = c.make_operation(name + ", replay");
  std::string shown;
  auto const first = run_and_ask_level(c, here, op, level.asked, shown);
  check_executed(c, first, "a call at " + name);
  if (c.check(shown == level.shown,
              "the server says that it is at " + std::string(level.shown) + "; it says " + shown))
    c.mark("level_read");
  check_replayed(c, c.run(there, op, options), first, "the next call at " + name);
  auto const other = c.make_operation(name + ", replay", "other content");
  check_mismatched(c, c.run(here, other, options), "other content at " + name);
  c.check_stored(op, 1, true);

  if (meet_two(c, here, there, name + ", two", options)) c.mark("met_at_level");
  roll_back_before_waiter(c, name + ", rolled back", options);
  idem::observer nobody;
  auto const watched = watched_contract(c, nobody);
  meet_three(c, *watched, {&here, &there, &c.connect()}, name + ", three", options);
  meet_many(c, name + ", many ", options);
}

void refused_at_level(context& c, isolation level) {
  std::string const name = name_of(level);
  auto& s = c.connect();
  auto const op = c.make_operation(name);
  auto const called = c.run(s, op, patient_at(level));
  c.check(called.failed_with(errc::unsupported) || called.failed_with(errc::isolation_mismatch),
          name + " is no level of this engine and is refused; it was: " + called.name());
  c.check(!called.answered && called.answered.error().certainty == certainty::not_executed,
          name + ": nothing is executed");
  c.check(c.body_calls(op) == 0, name + ": no effect is run");
  c.check_stored(op, 0, false);
  check_executed(c, c.run(s, op), "the same call at the engine's default");
}

}  // namespace

std::string name_of(isolation level) {
  for (auto const& [known, name] : level_names)
    if (known == level) return std::string(name);
  return "?";
}

// ISO-01
void every_level(context& c) {
  auto const levels = c.engine().levels();
  c.require(!levels.empty(), "the engine has a level");
  for (auto const& level : levels) core_at_level(c, level);
  for (auto const& [level, name] : level_names)
    if (!is_taken(c, level)) refused_at_level(c, level);
}

namespace {

// The positive control: the row that must not be answered from, as a plain query at the weakest
// level finds it or does not.
void control_dirty_row(context& c, operation const& op, std::size_t round) {
  auto& s = c.connect();
  begin_options weakest;
  if (is_taken(c, isolation::read_uncommitted)) weakest.isolation = isolation::read_uncommitted;
  weakest.read_only = true;
  weakest.limits.wait_limit = std::chrono::milliseconds(0);
  bool seen = false;
  if (auto tx = transaction::begin(s, weakest)) {
    auto const row = c.engine().record_row(s, op.request.identity());
    seen = row && row->has_value();
  }
  bool const declared = c.engine().declared().contains(capability::dirty_read);
  if (seen) c.mark("dirty_row_seen");
  c.check(seen == declared, "a plain query at the weakest level " +
                                std::string(seen ? "sees" : "does not see") +
                                " the uncommitted record, and must " + (declared ? "" : "not ") +
                                "(round " + std::to_string(round) + ")");
}

// A second call while the first has saved its response and has not committed it.
void call_beside_saved(context& c, isolation level, bool commits, std::size_t round) {
  std::string const name = name_of(level) + (commits ? ", committed" : ", rolled back");
  auto& first = c.connect();
  auto& second = c.connect();
  auto const op = c.make_operation(name);
  stepwise steps(c, first, op);
  c.must(steps.begin(), "the first call begins");
  c.require(steps.claim() == "claimed", "it claims");
  c.must(steps.effect(), "its effect writes");
  c.must(steps.complete(), "it saves its response");
  auto const own = c.engine().record_row(first, op.request.identity());
  c.require(own && own->has_value(), "the record is written and not committed");
  c.mark("saved_and_open");
  control_dirty_row(c, op, round);
  run_options options = patient_at(level);
  options.wait_limit = std::chrono::milliseconds(50);
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  auto const beside = c.run(second, op, options);
  bool const busy = beside.is<in_progress>() || beside.failed_with(errc::lock_timeout);
  c.check(busy, name + ": a call beside it is told that it is busy; it was: " + beside.name());
  c.check(c.body_calls(op) == 1, name + ": only the first effect has run");
  c.must(commits ? steps.commit() : steps.rollback(), "the first call ends");
  auto const later = c.run(second, op, patient_at(level));
  if (commits)
    c.check(later.is<replayed>(), name + ": the next call is replayed; it was: " + later.name());
  else
    check_executed(c, later, name + ": the next call");
  c.check_stored(op, 1, true);
}

}  // namespace

// ISO-05
void nothing_uncommitted(context& c) {
  std::size_t round = 0;
  for (auto const& [level, name] : level_names) {
    if (!is_taken(c, level)) continue;
    call_beside_saved(c, level, false, ++round);
    call_beside_saved(c, level, true, ++round);
  }
}

namespace {

struct left_as_found {
  context& c;
  session& s;
  std::string before;

  void check(std::string const& what) const {
    auto const now = c.engine().isolation_of(s);
    c.check(now && *now == before,
            what + " leaves the session at " + before + "; it is at " + now.value_or("?"));
    check_idle(c, s, "after " + what);
  }
};

effect_function writes_and(context& c, operation const& op, result<answer> ends) {
  return [&c, op, ends](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return ends;
  };
}

bool throws_through(context& c, session& s, operation const& op, run_options const& options) {
  auto const effect = [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    throw std::runtime_error("planted");
  };
  try {
    c.run(s, op, effect, options);
  } catch (std::runtime_error const&) {
    c.note(op, told::failed);
    return true;
  }
  return false;
}

void outcomes_at_level(context& c, session& s, isolation level, left_as_found const& found) {
  std::string const name = name_of(level);
  auto const options = patient_at(level);
  auto const op = c.make_operation(name);
  std::string inside;
  check_executed(c, run_and_ask_level(c, s, op, level, inside), "a call at " + name);
  if (inside != found.before) c.mark("another_level_inside");
  found.check("an executed call at " + name);
  c.check(c.run(s, op, options).is<replayed>(), "it is replayed");
  found.check("a replayed call at " + name);
  check_mismatched(c, c.run(s, c.make_operation(name, "other"), options), "other content");
  found.check("a mismatched call at " + name);

  auto const refusing = c.make_operation(name + ", refused");
  c.check(c.run(s, refusing, writes_and(c, refusing, answer(refusal{{402, {}, "no"}})), options)
              .is<refused>(),
          "an effect says no");
  found.check("a refused call at " + name);
  auto const failing = c.make_operation(name + ", failed");
  check_failed(c, c.run(s, failing, writes_and(c, failing, declined()), options),
               errc::statement_failed, "an effect fails");
  found.check("a failed call at " + name);
  auto const throwing = c.make_operation(name + ", thrown");
  c.check(throws_through(c, s, throwing, options), "an effect throws");
  found.check("a call at " + name + " whose effect throws");
  c.check_stored(throwing, 0, false);
}

void busy_at_level(context& c, session& s, isolation level, left_as_found const& found) {
  auto const op = c.make_operation(name_of(level) + ", busy");
  held_operation holder(c, c.connect(), op);
  c.require(holder.await_held(), "another call has the key");
  auto options = patient_at(level);
  options.wait_limit = std::chrono::milliseconds(0);
  auto const busy = c.run(s, op, options);
  c.check(busy.is<in_progress>() || busy.failed_with(errc::lock_timeout),
          "a call for its key is told that it is busy; it was: " + busy.name());
  check_executed(c, holder.commit(), "the other call");
  found.check("a busy call at " + name_of(level));
}

}  // namespace

// ISO-06
void level_as_found(context& c) {
  for (auto const& [level, name] : level_names) {
    auto& s = c.connect();
    left_as_found const found{c, s, c.must(c.engine().isolation_of(s), "the server tells it")};
    if (is_taken(c, level)) {
      outcomes_at_level(c, s, level, found);
      busy_at_level(c, s, level, found);
      continue;
    }
    auto const op = c.make_operation(name_of(level));
    c.check(!c.run(s, op, patient_at(level)).answered, name_of(level) + " is refused");
    found.check("a call refused for its level");
  }
}

}  // namespace idem::inline v1::conformance
