// SPDX-License-Identifier: BSL-1.0
// RPL-07 and RPL-11: refusals as declared, and records without a response.
#include <algorithm>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/replay_parts.h"

namespace idem::inline v1::conformance {

namespace {

// Writes, sees its write, and says no.
effect_function refusing_effect(context& c, operation const& op) {
  return [&c, op](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    auto const seen = c.engine().ledger(tx.session());
    if (seen && std::ranges::find(*seen, *nonce, &ledger_row::nonce) != seen->end())
      c.mark("write_seen_before_refusal");
    return answer(refusal{{402, {{"reason", "insufficient funds"}}, *nonce}});
  };
}

bool check_refused(context& c, call const& called, bool stored, std::string const& what,
                   std::source_location where = std::source_location::current()) {
  auto const* no = called.get<refused>();
  return c.check(no != nullptr && no->stored == stored && no->response.status == 402 &&
                     no->response.body.value_or("") != "",
                 what + " is refused, the refusal " + (stored ? "stored" : "not stored") +
                     "; it was: " + called.name(),
                 where);
}

void refusal_leaves_key_free(context& c, session& s) {
  auto const op = c.make_operation("free");
  auto const refusing = refusing_effect(c, op);
  auto const first = c.run(s, op, refusing);
  check_refused(c, first, false, "the first call");
  c.check_stored(op, 0, false);
  auto const second = c.run(s, op, refusing);
  check_refused(c, second, false, "the second call");
  c.check(c.body_calls(op) == 2 && first.body() != second.body(),
          "the second call ran the effect again");
  check_executed(c, c.run(s, op), "a later call that can pay");
  c.check_stored(op, 1, true);
}

void refusal_is_replayed(context& c, session& s) {
  auto const op = c.make_operation("stored");
  run_options store_it;
  store_it.refusals = refusal_policy::store;
  auto const first = c.run(s, op, refusing_effect(c, op), store_it);
  check_refused(c, first, true, "the first call");
  c.check_stored(op, 0, true);
  for (bool const storing : {true, false}) {
    auto const later = c.run(s, op, storing ? store_it : run_options{});
    check_replayed(c, later, first, "a later call that could pay");
    auto const* again = later.get<replayed>();
    c.check(again != nullptr && again->was_refusal, "the replay says that it is a refusal");
  }
  c.check(c.body_calls(op) == 1, "the effect ran once");
  c.check_stored(op, 0, true);
}

}  // namespace

void refusal_as_declared(context& c) {
  auto& s = c.connect();
  refusal_leaves_key_free(c, s);
  refusal_is_replayed(c, s);
}

std::optional<std::string> leave_half_record(context& c, session& s, operation const& op,
                                             bool with_effect) {
  std::optional<std::string> nonce;
  c.must(s.begin({}), "the caller begins a transaction");
  {
    auto tx = c.must(transaction::adopt(s), "it is adopted");
    auto claimed = c.must(c.idem().claim(tx, op.request, {}), "it claims");
    c.require(std::holds_alternative<claim_token>(claimed), "the claim takes the identity");
    if (with_effect) nonce = c.must(c.write_effect(tx, op), "the effect writes");
  }
  c.must(s.commit({}, {}), "the caller commits without a response");
  return nonce;
}

namespace {

// However it is asked, the record answers nothing and runs nothing.
void check_incomplete(context& c, session& s, operation const& op) {
  auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
  bool const half = found && found->state == record_state::claimed && !found->completed_at_us;
  if (c.check(half, "the record is committed without a response")) c.mark("half_record_seen");
  auto const before = c.record_row(op);
  int const calls = c.body_calls(op);
  for (int i = 0; i < 3; ++i) {
    auto const called = c.run(s, op);
    check_failed(c, called, errc::incomplete, "a call");
    c.check(!called.answered && called.answered.error().certainty == certainty::not_executed &&
                called.answered.error().advice == advice::never,
            "it says that nothing was executed and that trying again does not help");
  }
  stepwise step(c, s, op);
  c.must(step.begin(), "a transaction begins");
  auto const claimed = step.claim();
  c.check(!claimed && claimed.error().what == errc::incomplete, "a claim is incomplete as well");
  c.must(step.rollback(), "it rolls back");
  if (found) {
    auto const asked = c.idem().resolve(s, op.request, std::span(&found->attempt, 1));
    c.check(!asked && asked.error().what == errc::incomplete &&
                asked.error().certainty == certainty::in_doubt,
            "its own attempt cannot be resolved: only a person can tell");
  }
  c.check(c.body_calls(op) == calls && before && c.record_row(op) == before,
          "no effect ran and the record is as it was");
}

void half_record_settled_as_executed(context& c, session& s) {
  auto const op = c.make_operation("half with effect");
  auto const nonce = leave_half_record(c, s, op, true);
  check_incomplete(c, s, op);
  auto const answer = c.response_with(*nonce);
  check_mismatched(c, c.run(s, c.make_operation("half with effect", "other")), "other content");
  c.check(c.idem().settle(s, op.request.identity(), settle_as_executed{answer}) == true,
          "it is settled as executed");
  auto const later = c.run(s, op);
  auto const* again = later.get<replayed>();
  c.check(again != nullptr && again->response == answer,
          "a later call replays the settlement; it was: " + later.name());
  auto const twice = c.idem().settle(s, op.request.identity(), settle_discard{});
  c.check(!twice && twice.error().what == errc::invalid_argument,
          "a record with a response is not settled");
  c.check_stored(op, 1, true);
}

void half_record_discarded(context& c, session& s) {
  auto const op = c.make_operation("half without effect");
  leave_half_record(c, s, op, false);
  check_incomplete(c, s, op);
  c.check(c.idem().settle(s, op.request.identity(), settle_discard{}) == true, "it is discarded");
  c.check_stored(op, 0, false);
  auto const first = c.run(s, op);
  check_executed(c, first, "a later call");
  check_replayed(c, c.run(s, op), first, "the call after it");
  c.check(c.body_calls(op) == 1, "the effect ran once");
  c.check_stored(op, 1, true);
}

}  // namespace

void half_record(context& c) {
  auto& s = c.connect();
  half_record_settled_as_executed(c, s);
  half_record_discarded(c, s);
  auto const absent = c.make_operation("never claimed");
  c.check(c.idem().settle(s, absent.request.identity(), settle_discard{}) == false,
          "where there is no record there is nothing to settle");
}

}  // namespace idem::inline v1::conformance
