// SPDX-License-Identifier: BSL-1.0
// RBK: an attempt that does not end in a commit leaves nothing behind, whoever ends it.
#include <array>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

bool sees_effect(context& c, transaction& tx, operation const& op) {
  auto const rows = c.engine().ledger(tx.session());
  if (!rows) return false;
  for (auto const& row : *rows)
    if (row.tag == op.tag) return true;
  return false;
}

void check_idle(context& c, session& s, std::string const& when, std::source_location where) {
  auto const status = s.status();
  c.check(status && *status == transaction_status::idle, "the session is idle " + when, where);
  auto const id = c.engine().transaction_id(s);
  c.check(id && id->empty(), "the server has no transaction of the session " + when, where);
}

namespace {

// RBK-01
struct planted_exception : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What `run` threw, by the scenario's own names.
template <class Call>
std::string thrown_by(Call&& run) {
  try {
    std::forward<Call>(run)();
    return "nothing";
  } catch (planted_exception const& e) {
    return e.what();
  } catch (int number) {
    return "int " + std::to_string(number);
  }
}

void throw_planted() { throw planted_exception("planted"); }
void throw_number() { throw 42; }  // NOLINT: what is no std::exception passes too

void throwing_effect(context& c, std::string_view key, void (*thrower)(),
                     std::string const& expected) {
  auto const op = c.make_operation(key);
  auto& s = c.connect();
  bool seen = false;
  auto const thrown = thrown_by([&] {
    c.run(s, op, [&](transaction& tx) -> result<answer> {
      auto nonce = c.write_effect(tx, op);
      if (!nonce) return std::unexpected(std::move(nonce).error());
      seen = sees_effect(c, tx, op);
      thrower();
      return answer(c.response_with(*nonce));
    });
  });
  c.require(seen, "the effect sees its own write before it throws");
  c.mark("write_seen_before_throw");
  c.note(op, told::failed);
  c.check(thrown == expected, "the exception passes unchanged; it was: " + thrown);
  c.check_stored(op, 0, false);
  check_idle(c, s, "after the exception");
  check_executed(c, c.run(s, op), "the next call");
  c.check_stored(op, 1, true);
  c.check(c.body_calls(op) == 2, "the effect ran once more");
}

void effect_throws(context& c) {
  throwing_effect(c, "exception", throw_planted, "planted");
  throwing_effect(c, "number", throw_number, "int 42");
}

// RBK-02
void caller_rolls_back(context& c) {
  auto const op = c.make_operation("rolled back");
  auto& s = c.connect();
  stepwise steps(c, s, op);
  c.must(steps.begin(), "the transaction begins");
  c.require(c.must(steps.claim(), "the claim is answered") == "claimed", "the key is claimed");
  c.must(steps.effect(), "the effect is written");
  c.must(steps.complete(), "the response is saved");
  auto const inside = c.engine().record_row(s, op.request.identity());
  if (c.check(inside && *inside && sees_effect(c, steps.tx(), op),
              "record and effect are there, inside the transaction"))
    c.mark("seen_inside_transaction");
  c.must(steps.rollback(), "the caller rolls back");
  c.check_stored(op, 0, false);
  check_idle(c, s, "after the rollback");
  check_executed(c, c.run(s, op), "the next call");
  c.check_stored(op, 1, true);
}

// RBK-03: both or neither, and the outcome says which.
void judge_swallowed(context& c, session& s, operation const& op, call const& called) {
  if (called.is<executed>()) {
    c.check_stored(op, 1, true);
    check_replayed(c, c.run(s, op), called, "the next call");
    return;
  }
  bool const undone =
      !called.answered && called.answered.error().certainty == certainty::rolled_back;
  c.check(undone, "what is not executed is rolled back; it was: " + called.name());
  c.check_stored(op, 0, false);
  check_executed(c, c.run(s, op), "the next call");
  c.check_stored(op, 1, true);
}

using provocation = result<> (subject::*)(transaction&);

void swallowing_effect(context& c, std::string_view key, bool writes_first, provocation provoke) {
  auto const op = c.make_operation(key);
  auto& s = c.connect();
  bool refused = false;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    result<std::string> nonce = "nothing was written";
    if (writes_first) nonce = c.write_effect(tx, op);
    refused = !(c.engine().*provoke)(tx);
    if (!writes_first) nonce = c.write_effect(tx, op);
    return answer(c.response_with(nonce.value_or("swallowed")));
  });
  c.require(refused, "a statement of the effect is refused by the server");
  c.mark("statement_refused");
  judge_swallowed(c, s, op, called);
}

void swallowed_statement(context& c) {
  swallowing_effect(c, "before the write", false, &subject::break_constraint);
  swallowing_effect(c, "after the write", true, &subject::break_constraint);
  if (!c.engine().declared().contains(capability::statement_can_end_transaction)) return;
  swallowing_effect(c, "ended before the write", false, &subject::break_transaction);
  swallowing_effect(c, "ended after the write", true, &subject::break_transaction);
}

// RBK-05: the dialect's own statements, since no other text is the same on every engine.
result<> in_savepoint(transaction& tx, std::string_view sql) {
  auto done = tx.execute(sql);
  if (!done) return std::unexpected(std::move(done).error());
  return {};
}

void undo_effect(context& c, stepwise& steps, operation const& op) {
  c.must(steps.begin(), "the transaction begins");
  auto const& sql = steps.tx().session().sql().sql;
  c.require(c.must(steps.claim(), "the claim is answered") == "claimed", "the key is claimed");
  c.must(in_savepoint(steps.tx(), sql.savepoint), "a savepoint is set");
  c.must(steps.effect(), "the effect is written");
  c.require(sees_effect(c, steps.tx(), op), "the effect is seen before it is undone");
  c.must(in_savepoint(steps.tx(), sql.rollback_to_savepoint), "the effect is undone");
  if (c.check(!sees_effect(c, steps.tx(), op), "the effect is undone, the transaction lives"))
    c.mark("effect_undone_in_savepoint");
}

void savepoint_around_effect(context& c) {
  auto& s = c.connect();
  auto const dropped = c.make_operation("dropped");
  {
    stepwise steps(c, s, dropped);
    undo_effect(c, steps, dropped);
    c.check(!steps.commit(), "a claim without its response cannot be committed");
  }
  c.check_stored(dropped, 0, false);
  check_idle(c, s, "after the refused commit");
  check_executed(c, c.run(s, dropped), "the next call");

  auto const again = c.make_operation("written again");
  stepwise steps(c, s, again);
  undo_effect(c, steps, again);
  c.must(steps.effect(), "the effect is written once more");
  c.check(steps.complete().has_value(), "the response is saved");
  c.check(steps.commit().has_value(), "the transaction commits");
  c.check_stored(again, 1, true);
}

// RBK-06
void check_refused_at_commit(context& c, operation const& op, error const& e) {
  bool const at_commit = e.phase == phase::commit && e.what == errc::constraint_violation;
  if (c.check(at_commit, "COMMIT itself raises the constraint: " + describe(e)))
    c.mark("commit_raised_constraint");
  c.check(e.certainty == certainty::rolled_back, "nothing of it stays: " + describe(e));
  c.check_stored(op, 0, false);
}

void deferred_constraint(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("deferred");
  bool accepted = false;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    accepted = c.engine().break_at_commit(tx).has_value();
    return answer(c.response_with(*nonce));
  });
  c.require(accepted && !called.answered, "a write is taken and then fails at COMMIT");
  check_refused_at_commit(c, op, called.answered.error());
  c.check(c.body_calls(op) == 1, "what fails for good is not tried again");
  check_idle(c, s, "after the failed COMMIT");
  check_executed(c, c.run(s, op), "the next call");

  // The caller's own transaction, with the write after the response is saved.
  auto const own = c.make_operation("deferred in the caller's transaction");
  stepwise steps(c, s, own);
  c.must(steps.begin(), "the transaction begins");
  c.require(c.must(steps.claim(), "the claim is answered") == "claimed", "the key is claimed");
  c.must(steps.effect(), "the effect is written");
  c.must(steps.complete(), "the response is saved");
  c.must(c.engine().break_at_commit(steps.tx()), "the write is taken");
  auto const committed = steps.commit();
  c.require(!committed, "COMMIT is refused");
  check_refused_at_commit(c, own, committed.error());
  check_executed(c, c.run(s, own), "the next call");
  c.check_stored(own, 1, true);
}

// Its probe: a statement that is taken does not fail later.
void constraints_are_immediate(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("immediate");
  bool accepted = false;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    accepted = c.engine().break_at_commit(tx).has_value();
    if (!accepted) return declined();
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(c.response_with(*nonce));
  });
  c.check(accepted ? called.is<executed>() : called.failed_with(errc::statement_failed),
          "no constraint fails at COMMIT; it was: " + called.name());
  auto const next = c.run(s, op);
  c.check(accepted ? next.is<replayed>() : next.is<executed>(),
          "the next call is answered by the record; it was: " + next.name());
  c.check_stored(op, 1, true);
}

// RBK-10
void dropped_transaction(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("dropped");
  {
    stepwise steps(c, s, op);
    c.must(steps.begin(), "the transaction begins");
    c.require(c.must(steps.claim(), "the claim is answered") == "claimed", "the key is claimed");
    c.must(steps.effect(), "the effect is written");
    c.must(steps.complete(), "the response is saved");
    auto const open = c.engine().transaction_id(s);
    if (c.check(open && !open->empty(), "the server has the transaction open"))
      c.mark("open_before_drop");
  }
  c.note(op, told::failed);
  check_idle(c, s, "after the objects are gone");
  c.check_stored(op, 0, false);
  check_executed(c, c.run(s, op), "the next call");
}

void cancelled_effect(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("cancelled in the effect");
  std::stop_source stop;
  run_options options;
  options.stop = stop.get_token();
  auto const effect = [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    stop.request_stop();
    error e;
    e.what = errc::cancelled;
    e.phase = phase::effect;
    return std::unexpected(e);
  };
  check_failed(c, c.run(s, op, effect, options), errc::cancelled, "a call stopped in its effect");
  c.require(c.body_calls(op) == 1, "the effect had begun");
  check_idle(c, s, "after the cancelled effect");
  c.check_stored(op, 0, false);
  check_executed(c, c.run(s, op), "the next call, on the same session");
}

void cancelled_wait(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("cancelled while waiting");
  held_operation holder(c, c.connect(), op);
  c.require(holder.await_held(), "another call holds the key");
  std::stop_source stop;
  run_options options;
  options.wait_limit = std::chrono::seconds(60);
  options.stop = stop.get_token();
  background waiter([&] { return c.run(s, op, options); });
  if (c.check(waiter.await_blocked(c, s), "the call waits for the holder"))
    c.mark("stopped_while_waiting");
  stop.request_stop();
  c.check(waiter.await_done(c, std::chrono::seconds(5)), "the waiting ends soon after the stop");
  check_failed(c, waiter.get(), errc::cancelled, "a call stopped while it waits");
  check_idle(c, s, "after the cancelled wait");
  auto const held = holder.commit();
  check_executed(c, held, "the holder");
  c.check(c.body_calls(op) == 1, "the cancelled call ran no effect");
  check_replayed(c, c.run(s, op), held, "the next call, on the same session");
  c.check_stored(op, 1, true);
}

void ended_without_commit(context& c) {
  dropped_transaction(c);
  cancelled_effect(c);
  cancelled_wait(c);
}

// RBK-13
struct throwing_observer final : idem::observer {
  context& c;
  operation op;
  int hooks_failed = 0;
  bool committed_when_thrown = false;

  throwing_observer(context& ctx, operation o) : c(ctx), op(std::move(o)) {}
  void on_attempt(attempt_id const&, int) override { throw planted_exception("attempt"); }
  void on_outcome(outcome const& o) override {
    if (std::holds_alternative<executed>(o))
      committed_when_thrown = c.ledger_rows(op).size() == 1 && c.has_record(op);
    throw planted_exception("outcome");
  }
  void on_hook_failure(std::string_view, std::exception_ptr) noexcept override { ++hooks_failed; }
};

void hook_throws(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("hook");
  throwing_observer observer(c, op);
  auto const watched = watched_contract(c, observer);
  auto const first = run_on(c, *watched, s, op);
  check_executed(c, first, "the call whose hook throws after COMMIT");
  if (c.check(observer.committed_when_thrown, "record and effect are committed when it throws"))
    c.mark("hook_threw_after_commit");
  c.check(observer.hooks_failed >= 2, "each failed hook is told");
  c.check_stored(op, 1, true);
  check_replayed(c, run_on(c, *watched, s, op), first, "the retry, whose hooks throw too");
  check_replayed(c, c.run(s, op), first, "the retry without hooks");
  c.check(c.body_calls(op) == 1, "the effect ran once");
}

constexpr std::array all{
    scenario{"RBK-01", effect_throws, std::nullopt},
    scenario{"RBK-02", caller_rolls_back, std::nullopt},
    scenario{"RBK-03", swallowed_statement, std::nullopt},
    scenario{"RBK-04", aborted_commit, capability::statement_can_end_transaction,
             statement_ends_nothing},
    scenario{"RBK-05", savepoint_around_effect, std::nullopt},
    scenario{"RBK-06", deferred_constraint, capability::deferred_constraint,
             constraints_are_immediate},
    scenario{"RBK-08", deadlock_victim, capability::deadlock, cross_order_serialises},
    scenario{"RBK-09", lock_timeout_in_effect, capability::lock_wait_in_effect,
             no_lock_to_wait_for},
    scenario{"RBK-10", ended_without_commit, std::nullopt},
    scenario{"RBK-12", rollback_fails, std::nullopt},
    scenario{"RBK-13", hook_throws, std::nullopt},
    scenario{"RBK-15", swallowed_failure, capability::statement_can_end_transaction,
             statement_ends_nothing},
    scenario{"RBK-16", effect_ends_transaction, std::nullopt},
    scenario{"RBK-17", save_matches_nothing, std::nullopt},
};

}  // namespace

std::span<scenario const> rollback_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
