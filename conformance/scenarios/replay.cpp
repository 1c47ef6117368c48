// SPDX-License-Identifier: BSL-1.0
// RPL: a call that was answered once gets that answer again, and no second effect.
#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <map>
#include <thread>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/replay_parts.h"

namespace idem::inline v1::conformance {

namespace {

// RPL-01
void second_call_replays(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("once");
  auto const first = c.run(s, op);
  check_executed(c, first, "the first call");
  auto const rows = c.ledger_rows(op);
  c.check(rows.size() == 1 && rows.front().nonce == first.body(),
          "the response is the nonce drawn in the effect");
  check_replayed(c, c.run(s, op), first, "the second call");
  check_replayed(c, c.run(s, op), first, "the third call");
  c.check(c.body_calls(op) == 1, "the effect ran once");
  c.check_stored(op, 1, true);
}

// RPL-04
struct seen_answer {
  std::size_t key = 0;
  std::size_t session = 0;
  std::string name;
  std::string body;
};

constexpr std::size_t shuffled_keys = 200, calls_per_key = 5, shuffled_sessions = 8;

/// Every key five times. Two of the five stand side by side, so that two sessions meet there.
std::vector<std::size_t> shuffled_order(context& c) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t key = 0; key < shuffled_keys; ++key) {
    groups.push_back({key, key});
    for (std::size_t i = 2; i < calls_per_key; ++i) groups.push_back({key});
  }
  std::ranges::shuffle(groups, c.random());
  std::vector<std::size_t> order;
  for (auto const& group : groups) order.insert(order.end(), group.begin(), group.end());
  return order;
}

std::vector<seen_answer> call_in_order(context& c, std::vector<operation> const& operations,
                                       std::vector<std::size_t> const& order) {
  std::vector<session*> sessions;
  for (std::size_t i = 0; i < shuffled_sessions; ++i) sessions.push_back(&c.connect());
  run_options options;
  options.wait_limit = std::chrono::seconds(30);
  std::vector<seen_answer> seen(order.size());
  // Taken one after another from one row, so that neighbours in it are called at one time.
  std::atomic<std::size_t> next = 0;
  std::latch start(shuffled_sessions);
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < shuffled_sessions; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (std::size_t i = next++; i < order.size(); i = next++) {
        auto const& op = operations[order[i]];
        auto const effect = [&](transaction& tx) -> result<answer> {
          std::this_thread::yield();  // the neighbour has its chance to be here too
          return c.standard_effect(op)(tx);
        };
        auto const called = c.run(*sessions[t], op, effect, options);
        seen[i] = {order[i], t, called.name(), called.body()};
      }
    });
  threads.clear();
  return seen;
}

void shuffled_replays(context& c) {
  std::vector<operation> operations;
  for (std::size_t i = 0; i < shuffled_keys; ++i)
    operations.push_back(c.make_operation("key-" + std::to_string(i)));
  auto const seen = call_in_order(c, operations, shuffled_order(c));
  auto const count = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::count(seen, name, &seen_answer::name));
  };
  c.check(count("executed") == shuffled_keys,
          "executed is told once a key: " + std::to_string(count("executed")));
  c.check(count("replayed") == shuffled_keys * (calls_per_key - 1),
          "replayed is told by all other calls: " + std::to_string(count("replayed")));
  std::map<std::string, std::vector<std::string>> nonces;
  for (auto& row : c.must(c.engine().ledger(c.observer()), "the observer reads the ledger"))
    nonces[row.tag].push_back(std::move(row.nonce));
  std::vector<std::size_t> executed_by(shuffled_keys);
  for (auto const& a : seen)
    if (a.name == "executed") executed_by[a.key] = a.session;
  std::size_t rows = 0, wrong = 0;
  for (auto const& op : operations) rows += nonces[op.tag].size();
  for (auto const& a : seen) {
    auto const& own = nonces[operations[a.key].tag];
    wrong += own.size() == 1 && own.front() == a.body ? 0 : 1;
    if (a.name == "replayed" && a.session != executed_by[a.key]) c.mark("replayed_elsewhere");
  }
  c.check(rows == shuffled_keys, "the ledger has one row a key: " + std::to_string(rows));
  c.check(wrong == 0, "every answer is its key's nonce; others: " + std::to_string(wrong));
}

// RPL-05
void replay_in_rolled_back_transaction(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("settled");
  auto const other = c.make_operation("rolled back");
  auto const first = c.run(s, op);
  check_executed(c, first, "the first call");
  auto const before = c.record_row(op);
  stepwise again(c, s, op);
  c.must(again.begin(), "the larger transaction begins");
  auto nonce = c.must(c.write_effect(again.tx(), other), "the larger transaction writes");
  c.check(again.claim() == "replayed", "the claim in it is a replay");
  auto const inside = c.must(c.engine().ledger(s), "the session reads its own ledger");
  bool const visible = std::ranges::find(inside, nonce, &ledger_row::nonce) != inside.end();
  c.check(visible, "the larger transaction sees its write: the replay left it usable");
  auto const open = c.must(c.engine().transaction_id(s), "the server names the transaction");
  c.must(again.rollback(), "the larger transaction rolls back");
  auto const ended = c.must(c.engine().transaction_id(s), "the server names no transaction");
  if (!open.empty() && ended.empty() && visible && c.ledger_rows(other).empty())
    c.mark("rollback_seen");
  c.check_stored(other, 0, false);
  c.check_stored(op, 1, true);
  c.check(before && c.record_row(op) == before, "the record's whole row is as it was");
  check_replayed(c, c.run(s, op), first, "a later call");
}

// RPL-06
void twice_in_one_transaction(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("twice");
  auto tx = c.must(transaction::begin(s), "a transaction begins");
  auto claimed = c.must(c.idem().claim(tx, op.request, {}), "the first claim");
  auto* token = std::get_if<claim_token>(&claimed);
  c.require(token != nullptr, "the first claim takes the identity");
  auto const open = c.must(c.engine().transaction_id(s), "the server names the transaction");
  auto const early = c.idem().claim(tx, op.request, {});
  c.check(!early && early.error().what == errc::claim_open,
          "a second claim before the response is the error claim_open");
  auto const nonce = c.must(c.write_effect(tx, op), "the effect writes");
  c.must(c.idem().complete(tx, std::move(*token), c.response_with(nonce)), "the first completes");
  auto const late = c.must(c.idem().claim(tx, op.request, {}), "a claim after the response");
  auto const* again = std::get_if<replayed>(&late);
  c.check(again != nullptr && again->response == c.response_with(nonce),
          "a second claim after the response is a replay of it");
  auto const still = c.must(c.engine().transaction_id(s), "the server names the transaction");
  if (!open.empty() && open == still) c.mark("same_transaction");
  c.must(tx.commit(), "the transaction commits");
  c.note(op, told::executed, nonce);
  if (again != nullptr) c.note(op, told::replayed, again->response.body.value_or(""));
  c.check(c.body_calls(op) == 1, "the effect ran once");
  c.check_stored(op, 1, true);
}

// RPL-09
void scopes_are_apart(context& c) {
  std::string const lower = c.scope() + "/tenant", upper = c.scope() + "/TENANT",
                    other = c.scope() + "/tenant2";
  std::vector<operation> operations;
  for (auto const& scope : {lower, upper, other})
    for (std::string_view const name : {"debit:v1", "credit:v1", "debit:v2", "DEBIT:v1"})
      operations.push_back(c.make_operation({scope, name, "the key"}, "the content"));
  check_told_apart(c, operations);
  auto const& any = operations.front();
  c.check(c.body_calls() == 12 && c.body_calls(any) == 1, "each of the 12 ran once");
}

// RPL-10
std::vector<response> rich_responses() {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  return {
      {201,
       {{"Z-Last", "1"}, {"a-first", "2"}, {"Z-Last", "3"}, {"z-last", "4"}, {"Set-Cookie", ""}},
       R"({"b":1,"a":1.0})"},
      {-1, {{"Content-Type", "application/json; charset=utf-8"}}, "\xC3\xA9 \xE6\xBC\xA2 "},
      {2147483647, {{"bytes", every_byte}, {every_byte, "name"}}, every_byte},
      {200,
       {{"long", std::string(300, 'h')}, {"longer", std::string(5000, 'H')}},
       std::string(4001, 'b') + "end"},
      {0, {}, std::nullopt},
  };
}

void metadata_is_kept(context& c) {
  auto& here = c.connect();
  auto& there = c.connect();
  int number = 0;
  for (auto const& r : rich_responses()) {
    auto const op = c.make_operation("rich-" + std::to_string(++number));
    std::string const what = "response " + std::to_string(number);
    auto const first = run_answering(c, here, op, r);
    check_executed(c, first, what);
    auto const before = c.must(c.idem().find(there, op.request.identity()), "the record is read");
    c.require(before.has_value(), what + " has a record");
    c.check(before->response == r, what + " is stored as it was answered, in its order");
    auto const* told = response_of(first);
    c.check(told != nullptr && *told == r, what + " is told as the effect answered it");
    check_replayed(c, run_answering(c, there, op, r), first, what + " asked again");
    auto const after = c.must(c.idem().find(there, op.request.identity()), "the record is read");
    c.check(after == before, what + " keeps its times: a replay changes nothing");
    bool const times = before->created_at_us > 0 && before->completed_at_us &&
                       before->expires_at_us && *before->completed_at_us >= before->created_at_us &&
                       *before->expires_at_us > *before->completed_at_us;
    if (c.check(times, what + " has its times, in their order")) c.mark("times_kept");
  }
}

constexpr std::array all{
    scenario{"RPL-01", second_call_replays, std::nullopt, nullptr},
    scenario{"RPL-02", replay_elsewhere, capability::processes, no_second_process},
    scenario{"RPL-03", replay_after_restart, capability::restart, no_restart},
    scenario{"RPL-04", shuffled_replays, std::nullopt, nullptr},
    scenario{"RPL-05", replay_in_rolled_back_transaction, std::nullopt, nullptr},
    scenario{"RPL-06", twice_in_one_transaction, std::nullopt, nullptr},
    scenario{"RPL-07", refusal_as_declared, std::nullopt, nullptr},
    scenario{"RPL-09", scopes_are_apart, std::nullopt, nullptr},
    scenario{"RPL-10", metadata_is_kept, std::nullopt, nullptr},
    scenario{"RPL-11", half_record, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> replay_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
