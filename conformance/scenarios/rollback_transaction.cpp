// SPDX-License-Identifier: BSL-1.0
// RBK, where the transaction is spoilt or ended under the operation.
#include <array>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/cross_order.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

namespace {

bool is_open(session& s) {
  auto const status = s.status();
  return status && *status == transaction_status::open;
}

// By the session's word or by the server's.
bool is_spoilt(context& c, session& s, result<std::string> const& id_before) {
  auto const id = c.engine().transaction_id(s);
  return !is_open(s) || (id && id_before && *id != *id_before);
}

void claim_and_write(context& c, stepwise& steps) {
  c.must(steps.begin(), "the transaction begins");
  c.require(c.must(steps.claim(), "the claim is answered") == "claimed", "the key is claimed");
  c.must(steps.effect(), "the effect is written");
}

void spoil(context& c, stepwise& steps) {
  auto& s = steps.tx().session();
  c.require(is_open(s), "the transaction is open before");
  auto const id = c.engine().transaction_id(s);
  c.require(!c.engine().break_transaction(steps.tx()), "the server refuses a statement");
  if (is_spoilt(c, s, id)) c.mark("spoilt_before_commit");
}

void check_not_committed(context& c, session& s, operation const& op, result<> const& committed) {
  c.require(!committed, "COMMIT is not reported as success");
  c.check(committed.error().certainty == certainty::rolled_back,
          "it is known that nothing was committed: " + describe(committed.error()));
  c.check_stored(op, 0, false);
  check_idle(c, s, "after the refused commit");
  check_executed(c, c.run(s, op), "the next call");
  c.check_stored(op, 1, true);
}

}  // namespace

// RBK-04
void aborted_commit(context& c) {
  auto& s = c.connect();
  auto const early = c.make_operation("spoilt before the save");
  {
    stepwise steps(c, s, early);
    claim_and_write(c, steps);
    spoil(c, steps);
    c.check(!steps.complete(), "the response cannot be saved");
    check_not_committed(c, s, early, steps.commit());
  }
  auto const late = c.make_operation("spoilt after the save");
  stepwise steps(c, s, late);
  claim_and_write(c, steps);
  c.must(steps.complete(), "the response is saved");
  spoil(c, steps);
  check_not_committed(c, s, late, steps.commit());
}

void statement_ends_nothing(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("unspoilt");
  stepwise steps(c, s, op);
  claim_and_write(c, steps);
  auto const broken = c.engine().break_transaction(steps.tx());
  c.log(broken ? "the statement is taken" : "the statement: " + describe(broken.error()));
  c.check(is_open(s), "the transaction is still open");
  c.check(steps.complete().has_value(), "the response is saved");
  c.check(steps.commit().has_value(), "the transaction commits");
  c.check_stored(op, 1, true);
}

namespace {

// Both calls take both keys in opposite order, inside their effects.
struct crossing_calls {
  cross_order keys;
  std::array<operation, 2> ops;
  std::array<call, 2> calls;

  explicit crossing_calls(context& c)
      : keys(c), ops{c.make_operation("one"), c.make_operation("other")} {
    auto const start = [&](std::size_t side) {
      return background([this, &c, side] { return run(c, side); });
    };
    background one = start(0);
    background other = start(1);
    calls = {one.get(), other.get()};
    for (std::size_t side : {0u, 1u})
      if (calls[side].is<executed>()) keys.committed(side);
  }

  call run(context& c, std::size_t side) {
    auto const effect = [&, side](transaction& tx) -> result<answer> {
      c.count_body_call(ops[side]);
      if (auto taken = keys.take_both(tx, side); !taken)
        return std::unexpected(std::move(taken).error());
      std::string nonce = attempt_id::random().to_string();
      auto written = c.engine().write(tx, {ops[side].tag, nonce, 0, 1});
      if (!written) return std::unexpected(std::move(written).error());
      return answer(c.response_with(std::move(nonce)));
    };
    run_options options;
    options.wait_limit = std::chrono::seconds(20);
    auto called = c.run(keys.of(side), ops[side], effect, options);
    keys.gave_up(side);
    return called;
  }

  void check_both(context& c) const {
    for (std::size_t side : {0u, 1u}) {
      check_executed(c, calls[side], "each call");
      c.check_stored(ops[side], 1, true);
      c.check_stored(keys.key(side), 1, true);
    }
    c.require(keys.crossed(), "both transactions have taken a key");
    int const bodies = c.body_calls(ops[0]) + c.body_calls(ops[1]);
    c.check(bodies == 2 + keys.deadlocks(),
            "the effect runs once for each call and once more for each victim; it ran " +
                std::to_string(bodies) + " times with " + std::to_string(keys.deadlocks()) +
                " victims");
  }
};

}  // namespace

// RBK-08
void deadlock_victim(context& c) {
  crossing_calls const both(c);
  both.check_both(c);
  if (c.check(both.keys.deadlocks() >= 1, "the server chooses a victim"))
    c.mark("deadlock_code_seen");
}

void cross_order_serialises(context& c) {
  crossing_calls const both(c);
  both.check_both(c);
  c.check(both.keys.deadlocks() == 0, "no code of a deadlock is ever seen");
  c.check(both.keys.waited(), "one transaction waits until the other has ended");
}

namespace {

// The lock that an effect is to wait for, held by another session.
class held_lock {
 public:
  explicit held_lock(context& c) : context_(c), holder_(c.connect()) {
    c.must(c.engine().hold_lock(holder_), "another session holds the lock");
    held_ = true;
  }
  held_lock(held_lock const&) = delete;
  held_lock& operator=(held_lock const&) = delete;
  ~held_lock() { release(); }

  void release() {
    if (!held_) return;
    held_ = false;
    auto const released = context_.engine().release_lock(holder_);
    context_.check(released.has_value(), "the lock is released");
  }
  bool is_open() const {
    auto const id = context_.engine().transaction_id(holder_);
    return id && !id->empty();
  }

 private:
  context& context_;
  session& holder_;
  bool held_ = false;
};

// An effect that wants the lock, and what it sees.
struct wanting {
  context& c;
  held_lock& lock;
  operation op;
  bool swallows = false;
  bool has_lock_released = false;
  int timed_out = 0;

  result<answer> effect(transaction& tx) {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    bool const held = lock.is_open();
    auto const wanted = c.engine().want_lock(tx, std::chrono::milliseconds(50));
    if (!wanted && wanted.error().what == errc::lock_timeout && held) ++timed_out;
    if (has_lock_released) lock.release();
    if (!wanted && !swallows) return std::unexpected(wanted.error());
    return answer(c.response_with(std::move(*nonce)));
  }

  call run(session& s) {
    run_options options;
    options.retry.max_attempts = 2;
    options.retry.base_delay = std::chrono::milliseconds(1);
    return c.run(s, op, [this](transaction& tx) { return effect(tx); }, options);
  }
};

void check_timed_out(context& c, session& s, wanting const& w, call const& called) {
  c.require(w.timed_out > 0, "the effect's statement times out while the lock is held");
  c.mark("timed_out_while_held");
  check_failed(c, called, errc::lock_timeout, "a call whose effect cannot have its lock");
  c.check(!called.answered && called.answered.error().certainty == certainty::rolled_back,
          "nothing of it stays");
  c.check(w.timed_out == 2 && c.body_calls(w.op) == 2,
          "the whole transaction is tried again, not the statement alone");
  c.check_stored(w.op, 0, false);
  check_idle(c, s, "after the time-out");
}

}  // namespace

// RBK-09
void lock_timeout_in_effect(context& c) {
  auto& s = c.connect();
  held_lock lock(c);
  wanting told{c, lock, c.make_operation("told")};
  check_timed_out(c, s, told, told.run(s));
  wanting swallowed{c, lock, c.make_operation("swallowed"), true};
  check_timed_out(c, s, swallowed, swallowed.run(s));

  wanting lifted{c, lock, c.make_operation("lifted"), false, true};
  check_executed(c, lifted.run(s), "a call whose lock is released after its first attempt");
  c.check(lifted.timed_out == 1 && c.body_calls(lifted.op) == 2, "its effect ran twice");
  c.check_stored(lifted.op, 1, true);
  check_executed(c, c.run(s, swallowed.op), "the next call");
  c.check_stored(swallowed.op, 1, true);
}

void no_lock_to_wait_for(context& c) {
  auto& s = c.connect();
  auto& holder = c.connect();
  auto const op = c.make_operation("no lock");
  bool const held = c.engine().hold_lock(holder).has_value();
  bool timed_out = false;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    auto const wanted = held ? c.engine().want_lock(tx, std::chrono::milliseconds(50)) : result<>();
    timed_out = !wanted && wanted.error().what == errc::lock_timeout;
    return answer(c.response_with(std::move(*nonce)));
  });
  if (held) c.must(c.engine().release_lock(holder), "the holder lets go");
  c.check(!timed_out, "no statement of an effect waits for another's lock");
  check_executed(c, called, "the call beside the holder");
  c.check_stored(op, 1, true);
}

// RBK-15
void swallowed_failure(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("swallowed");
  bool refused = false;
  run_options options;
  options.retry.max_attempts = 1;
  auto const effect = [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    auto const id = c.engine().transaction_id(tx.session());
    refused = !c.engine().break_transaction(tx);
    if (refused && is_spoilt(c, tx.session(), id)) c.mark("failure_swallowed");
    auto const went_on = c.engine().write(tx, {op.tag, "after the failure", 0, 1});
    c.log(went_on ? "the later write is taken" : "the later write: " + describe(went_on.error()));
    return answer(c.response_with(std::move(*nonce)));
  };
  auto const called = c.run(s, op, effect, options);
  c.require(refused, "a statement of the effect is refused, and the effect goes on");
  c.require(!called.answered, "the call is not answered; it was: " + called.name());
  c.check(called.answered.error().certainty == certainty::rolled_back || !s.guards_commit(),
          "nothing of it stays: " + describe(called.answered.error()));
  c.check_stored(op, 0, false);
  check_idle(c, s, "after the failed call");
  check_executed(c, c.run(s, op), "the retry");
  c.check_stored(op, 1, true);
}

namespace {

// Where nothing keeps an effect from committing, a half record is left: found and repaired.
void repair_half_record(context& c, session& s, operation const& op, std::string const& nonce) {
  c.check_stored(op, 1, true);
  check_failed(c, c.run(s, op), errc::incomplete, "the next call");
  auto const settled =
      c.idem().settle(s, op.request.identity(), settle_as_executed{c.response_with(nonce)});
  c.check(settled && *settled, "the half record is settled");
  auto const next = c.run(s, op);
  c.check(next.is<replayed>() && next.body() == nonce, "the settled response is replayed");
}

void ending_effect(context& c, std::string_view key, ending how) {
  auto& s = c.connect();
  auto const op = c.make_operation(key);
  std::string nonce;
  bool changed = false;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    auto written = c.write_effect(tx, op);
    if (!written) return std::unexpected(std::move(written).error());
    nonce = std::move(*written);
    auto const before = c.engine().transaction_id(s);
    auto const ended = c.engine().end_transaction(tx, how);
    auto const after = c.engine().transaction_id(s);
    changed = before && after && !before->empty() && *before != *after;
    c.log(std::string(key) + (ended ? ": taken" : ": " + describe(ended.error())));
    return answer(c.response_with(nonce));
  });
  c.require(changed, "the server has another transaction than before, or none");
  c.mark("transaction_id_changed");
  check_failed(c, called, errc::transaction_replaced, "an operation whose effect ends it");
  c.check(c.body_calls(op) == 1, "it is not tried again");
  bool const unknown = !called.answered && called.answered.error().certainty == certainty::in_doubt;
  check_idle(c, s, "after the failed call");
  if (unknown && c.has_record(op)) return repair_half_record(c, s, op, nonce);
  c.check_stored(op, 0, false);
  check_executed(c, c.run(s, op), "the next call");
  c.check_stored(op, 1, true);
}

}  // namespace

// RBK-16
void effect_ends_transaction(context& c) {
  ending_effect(c, "COMMIT", ending::commit);
  ending_effect(c, "ROLLBACK", ending::rollback);
  ending_effect(c, "COMMIT and a new transaction", ending::commit_and_begin);

  auto& s = c.connect();
  auto const op = c.make_operation("ROLLBACK in the caller's transaction");
  stepwise steps(c, s, op);
  claim_and_write(c, steps);
  auto const id = c.engine().transaction_id(s);
  auto const ended = c.engine().end_transaction(steps.tx(), ending::rollback);
  c.require(ended || is_spoilt(c, s, id), "the effect rolls back");
  c.check(!steps.complete(), "the response cannot be saved");
  c.check(!steps.commit(), "the transaction cannot be committed");
  c.check_stored(op, 0, false);
}

namespace {

bool delete_claim(context& c, transaction& tx, operation const& op) {
  auto const& id = op.request.identity();
  auto const before = c.engine().record_row(tx.session(), id);
  auto const deleted = c.engine().delete_record(tx, id);
  auto const after = c.engine().record_row(tx.session(), id);
  return before && *before && deleted && after && !*after;
}

}  // namespace

// RBK-17
void save_matches_nothing(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("deleted");
  bool deleted = false;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    deleted = delete_claim(c, tx, op);
    return answer(c.response_with(std::move(*nonce)));
  });
  c.require(deleted, "the effect deletes the claim it runs under");
  c.mark("claim_deleted");
  check_failed(c, called, errc::save_unmatched, "a call whose save matches no row");
  c.check(!called.answered && called.answered.error().certainty == certainty::rolled_back,
          "nothing of it stays");
  c.check_stored(op, 0, false);
  check_executed(c, c.run(s, op), "the next call");
  c.check_stored(op, 1, true);

  auto const own = c.make_operation("deleted in the caller's transaction");
  stepwise steps(c, s, own);
  claim_and_write(c, steps);
  c.require(delete_claim(c, steps.tx(), own), "the claim is deleted");
  auto const completed = steps.complete();
  // Where the save is the witness, and the caller's transaction has no savepoint of ours, the two
  // look alike.
  c.check(!completed && (completed.error().what == errc::save_unmatched ||
                         completed.error().what == errc::transaction_replaced),
          "the response cannot be saved");
  c.check(!steps.commit(), "the transaction cannot be committed");
  c.check_stored(own, 0, false);
  check_idle(c, s, "after the refused commit");
}

}  // namespace idem::inline v1::conformance
