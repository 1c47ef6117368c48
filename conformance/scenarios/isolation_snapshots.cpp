// SPDX-License-Identifier: BSL-1.0
// ISO where a transaction's view is older than what is committed: ISO-02, ISO-03, ISO-04.
#include <optional>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/isolation_parts.h"
#include "conformance/scenarios/meetings.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

namespace {

std::vector<isolation_level> snapshot_levels(context& c) {
  auto levels = c.engine().levels();
  std::erase_if(levels,
                [](isolation_level const& l) { return l.asked < isolation::repeatable_read; });
  c.require(!levels.empty(), "a level keeps its snapshot");
  return levels;
}

begin_options at(isolation level) {
  begin_options options;
  options.isolation = level;
  return options;
}

struct conflict_watch final : idem::observer {
  int seen = 0;
  std::optional<phase> where;
  void on_retry(error const& e, std::chrono::milliseconds) override {
    if (e.what != errc::serialization_failure) return;
    ++seen;
    where = e.phase;
  }
};

// A claim whose transaction sees what was there before the first call committed.
void claim_after_snapshot(context& c, isolation_level const& level) {
  std::string const name = "claim at " + name_of(level.asked);
  auto& mine = c.connect();
  auto const op = c.make_operation(name);
  auto tx = c.must(transaction::begin(mine, at(level.asked)), "a transaction begins");
  c.check(!sees_effect(c, tx, op), "its snapshot has no effect");
  auto const first = c.run(c.connect(), op);
  check_executed(c, first, "another session's call");
  if (c.check(!sees_effect(c, tx, op), "a plain query still sees none")) c.mark("snapshot_is_old");
  auto claimed = c.idem().claim(tx, op.request, {});
  auto const* again = claimed ? std::get_if<replayed>(&*claimed) : nullptr;
  if (again != nullptr)
    c.check(again->response.body == first.body(), name + ": the answer is the committed one");
  else
    c.check(!claimed && is_transient(claimed.error()),
            name + ": the identity is not taken again, the transaction is to be started over");
  if (!claimed && claimed.error().what == errc::serialization_failure) c.mark("conflict_seen");
  c.check(tx.rollback().has_value(), "the transaction ends");
  run_options options = patient();
  options.isolation = level.asked;
  check_replayed(c, c.run(mine, op, options), first, name + ": the whole, started over");
  c.check(c.body_calls(op) == 1, name + ": one effect has run");
  c.check_stored(op, 1, true);
}

// A call whose snapshot is as old as its claim, which waited.
void wait_with_snapshot(context& c, isolation_level const& level) {
  conflict_watch watch;
  auto const watched = watched_contract(c, watch);
  run_options options = patient();
  options.isolation = level.asked;
  auto& second = c.connect();
  auto const op = c.make_operation("wait at " + name_of(level.asked));
  held_operation holder(c, c.connect(), op, held_operation::at::after_write, options);
  c.require(holder.await_held(), "the first call is in its effect");
  background waiter([&] { return run_on(c, *watched, second, op, options); });
  c.check(waiter.await_blocked(c, second), "the second call's claim waits");
  auto const held = holder.commit();
  auto const later = waiter.get();
  check_executed(c, held, "the first call");
  check_replayed(c, later, held, "the second call, started over");
  if (watch.seen > 0) c.mark("conflict_seen");
  c.check(c.body_calls(op) == 1, "one effect has run");
  c.check_stored(op, 1, true);
}

}  // namespace

// ISO-02
void absent_in_snapshot(context& c) {
  for (auto const& level : snapshot_levels(c)) {
    wait_with_snapshot(c, level);
    claim_after_snapshot(c, level);
  }
}

// ISO-03
void late_to_the_snapshot(context& c) {
  for (auto const& level : snapshot_levels(c)) claim_after_snapshot(c, level);
}

// Where no transaction of ours keeps a snapshot: either nobody commits beside it, or it sees
// what they committed.
void no_old_snapshot(context& c) {
  auto levels = c.engine().levels();
  levels.push_back({isolation::engine_default, ""});
  for (auto const& level : levels) {
    auto& mine = c.connect();
    auto& other = c.connect();
    auto const op = c.make_operation(name_of(level.asked));
    auto tx = c.must(transaction::begin(mine, at(level.asked)), "a transaction begins");
    c.check(!sees_effect(c, tx, op), "there is no effect yet");
    run_options hasty;
    hasty.wait_limit = std::chrono::milliseconds(0);
    auto const beside = c.run(other, op, hasty);
    if (beside.answered)
      c.check(beside.is<executed>() && sees_effect(c, tx, op),
              "what another commits is seen by a transaction that began before");
    else
      check_failed(c, beside, errc::lock_timeout, "a call beside an open transaction");
    c.check(tx.rollback().has_value(), "the transaction ends");
    auto const later = c.run(mine, op);
    c.check(beside.answered ? later.is<replayed>() : later.is<executed>(),
            "the next call has its answer; it was: " + later.name());
    c.check(c.body_calls(op) == 1, "one effect has run");
    c.check_stored(op, 1, true);
  }
}

namespace {

isolation strongest(context& c) {
  auto const levels = c.engine().levels();
  c.require(!levels.empty(), "the engine has a level");
  return levels.back().asked;
}

// By the caller's own hand, so that nothing comes between the conflict and COMMIT.
void conflict_in_callers_commit(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("own commit");
  auto tx = c.must(transaction::begin(s, at(strongest(c))), "a transaction begins");
  auto claimed = c.must(c.idem().claim(tx, op.request, {}), "it claims");
  auto* token = std::get_if<claim_token>(&claimed);
  c.require(token != nullptr, "the identity is claimed");
  auto const nonce = c.must(c.write_effect(tx, op), "the effect writes");
  c.must(c.idem().complete(tx, std::move(*token), c.response_with(nonce)), "the response is saved");
  c.must(c.engine().conflict_at_commit(tx), "another transaction does what conflicts");
  auto const committed = tx.commit();
  c.note(op, committed ? told::executed : told::failed, nonce);
  c.require(!committed, "COMMIT is refused");
  error const& e = committed.error();
  c.check(e.what == errc::serialization_failure && e.phase == phase::commit && is_transient(e),
          "for a conflict, and to be started over: " + describe(e));
  c.check(e.certainty == certainty::rolled_back, "nothing of it stays");
  c.mark("conflict_at_commit");
  c.check_stored(op, 0, false);
  check_idle(c, s, "after the refused commit");
  check_executed(c, c.run(s, op), "the whole, started over");
  c.check(c.body_calls(op) == 2, "the effect ran twice");
  c.check_stored(op, 1, true);
}

void conflict_in_run(context& c) {
  conflict_watch watch;
  auto const watched = watched_contract(c, watch);
  auto& s = c.connect();
  auto const op = c.make_operation("run");
  bool conflicted = false;
  effect_function const effect = [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    if (!std::exchange(conflicted, true))
      if (auto other = c.engine().conflict_at_commit(tx); !other)
        return std::unexpected(std::move(other).error());
    return answer(c.response_with(std::move(*nonce)));
  };
  run_options options = patient();
  options.isolation = strongest(c);
  lone_session source(s);
  context other(c.engine(), *watched, c.scope());
  auto const called = other.run(source, op, effect, options);
  c.note(op, other.history().back().what, other.history().back().body);
  check_executed(c, called, "a call whose first commit conflicts");
  c.check(c.body_calls(op) == 2, "its effect ran twice");
  bool const late = watch.where == phase::commit || watch.where == phase::save;
  if (c.check(watch.seen == 1 && late, "the conflict was told when all was written"))
    c.mark("whole_started_over");
  c.check_stored(op, 1, true);
  check_replayed(c, c.run(s, op), called, "the next call");
}

}  // namespace

// ISO-04
void commit_conflicts(context& c) {
  conflict_in_callers_commit(c);
  conflict_in_run(c);
}

// Where a commit cannot conflict, nobody can write between begin and commit.
void nothing_to_conflict_with(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("alone");
  auto const other = c.make_operation("other");
  stepwise steps(c, s, op);
  c.must(steps.begin(), "a transaction begins");
  c.require(steps.claim() == "claimed", "it claims");
  run_options hasty;
  hasty.wait_limit = std::chrono::milliseconds(0);
  auto& second = c.connect();
  check_failed(c, c.run(second, other, hasty), errc::lock_timeout, "another call beside it");
  c.check(c.body_calls(other) == 0, "whose effect does not run");
  c.must(steps.effect(), "the effect writes");
  c.must(steps.complete(), "the response is saved");
  c.check(steps.commit().has_value(), "the transaction commits");
  c.check_stored(op, 1, true);
  check_executed(c, c.run(second, other, hasty), "the other call, afterwards");
}

}  // namespace idem::inline v1::conformance
