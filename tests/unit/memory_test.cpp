// SPDX-License-Identifier: BSL-1.0
// idem's whole protocol, without a server.
#include <idem/memory.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <latch>
#include <stdexcept>
#include <thread>

#include "tests/support/memory_world.h"

using namespace idem_tests;

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(replay_and_mismatch) {
  world w;
  auto const first = w.debit("k");
  auto const second = w.debit("k");
  BOOST_TEST((get<replayed>(second).response == get<executed>(first).response));
  BOOST_TEST((get<executed>(first).response == ok("k")));
  auto const other = make_request("k", "other");
  get<mismatched>(w.idem().run(*w.sessions, other, world::debit_effect("k")));
  BOOST_TEST(w.ledger() == 1u);
  BOOST_TEST(w.balance() == 1);
  BOOST_TEST(w.db->committed_records() == 1u);
  BOOST_TEST(w.db->open_transactions() == 0u);
}

BOOST_AUTO_TEST_CASE(waiter_replays_after_commit) {
  world w;
  holder first(w, "k");
  background_run second(w, "k");
  second.await_waiting();
  first.commit(w, "winner");
  second.thread.join();
  BOOST_TEST(get<replayed>(second.answered).response.body.value() == "winner");
  BOOST_TEST(w.ledger() == 0u);
}

BOOST_AUTO_TEST_CASE(first_waiter_of_two_runs_after_rollback) {
  world w;
  holder first(w, "k");
  background_run second(w, "k");
  second.await_waiting();
  background_run third(w, "k");
  third.await_waiting();
  get<executed>(w.debit("unrelated"));  // other keys do not wait
  must(first.tx->rollback());
  second.thread.join();
  third.thread.join();
  get<executed>(second.answered);
  get<replayed>(third.answered);
  BOOST_TEST(w.db->committed_rows("ledger") == (std::vector<std::string>{"unrelated", "k"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(in_progress_at_the_wait_limit) {
  world w;
  holder first(w, "k");
  auto const start = std::chrono::steady_clock::now();
  get<in_progress>(w.debit("k", with_wait(0ms)));
  get<in_progress>(w.debit("k", with_wait(30ms)));
  BOOST_TEST((std::chrono::steady_clock::now() - start >= 30ms));
  BOOST_TEST(w.seen.retries == 0);
  BOOST_TEST(w.db->open_transactions() == 1u);
}

BOOST_AUTO_TEST_CASE(patience_of_the_caller) {
  world w;
  holder first(w, "k");
  auto options = with_wait(1h);
  options.deadline = std::chrono::steady_clock::now() + 30ms;
  BOOST_TEST((w.debit("k", options).error().what == errc::deadline_exceeded));
  std::stop_source stop;
  options.deadline = std::chrono::steady_clock::time_point::max();
  options.stop = stop.get_token();
  background_run second(w, "k", options);
  second.await_waiting();
  stop.request_stop();
  second.thread.join();
  BOOST_TEST((second.answered.error().what == errc::cancelled));
  BOOST_TEST((second.answered.error().certainty == certainty::not_executed));
}

BOOST_AUTO_TEST_CASE(deadlock_costs_one_transaction_and_run_starts_it_again) {
  world w;
  std::latch both_hold(2);
  auto const crossing = [&](std::string mine, std::string theirs) {
    return [&both_hold, mine, theirs, tries = 0](transaction& tx) mutable -> result<response> {
      if (auto held = mem::add(tx, mine, 1); !held) return std::unexpected(held.error());
      if (++tries == 1) both_hold.arrive_and_wait();
      auto const wanted = mem::add(tx, theirs, 1);
      if (wanted) return ok();
      auto const status = tx.session().status();
      bool const failed = status && *status == transaction_status::failed;
      if (!failed) throw std::logic_error("a victim's transaction must be failed");
      return ok("swallowed");  // run must notice all the same
    };
  };
  std::array<result<outcome>, 2> answered{in_progress{}, in_progress{}};
  {
    std::jthread const one(
        [&] { answered[0] = w.idem().run(*w.sessions, make_request("a"), crossing("x", "y")); });
    std::jthread const two(
        [&] { answered[1] = w.idem().run(*w.sessions, make_request("b"), crossing("y", "x")); });
  }
  BOOST_TEST((get<executed>(answered[0]).response == ok()));
  BOOST_TEST((get<executed>(answered[1]).response == ok()));
  BOOST_TEST(w.seen.deadlocks == 1);
  BOOST_TEST(w.db->committed_counter("x") == 2);
  BOOST_TEST(w.db->committed_counter("y") == 2);
}

BOOST_AUTO_TEST_CASE(refusals) {
  world w;
  auto const refusing = [](transaction& tx) {
    must(mem::append(tx, "ledger", "undone"));
    must(mem::add(tx, "balance", 5));
    return refusal{ok("no")};
  };
  run_options options;
  get<refused>(w.idem().run(*w.sessions, make_request("k"), refusing, options));
  BOOST_TEST(w.db->committed_records() == 0u);
  options.refusals = refusal_policy::store;
  auto const stored = w.idem().run(*w.sessions, make_request("k"), refusing, options);
  BOOST_TEST(get<refused>(stored).stored);
  BOOST_TEST(get<replayed>(w.debit("k")).was_refusal);
  BOOST_TEST(w.ledger() == 0u);
  BOOST_TEST(w.balance() == 0);
}

namespace {

// A debit whose COMMIT fails once in the given way.
auto failing_once(mem::commit_fault fault, int& calls) {
  return [fault, &calls](transaction& tx) -> result<response> {
    if (++calls == 1) must(mem::fail_next_commit(tx.session(), fault));
    must(mem::append(tx, "ledger", "row"));
    return ok();
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(doubt_is_found_out_by_run) {
  using mem::commit_fault;
  for (auto const fault : {commit_fault::lost_before, commit_fault::lost_after}) {
    world w;
    int calls = 0;
    auto const answered = w.idem().run(*w.sessions, make_request("k"), failing_once(fault, calls));
    BOOST_TEST((get<executed>(answered).response == ok()));
    BOOST_TEST(calls == (fault == commit_fault::lost_before ? 2 : 1));
    BOOST_TEST(w.seen.doubts == 1);
    BOOST_TEST(w.ledger() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(refused_commits) {
  using mem::commit_fault;
  world w;
  int calls = 0;
  get<executed>(w.idem().run(*w.sessions, make_request("a"),
                             failing_once(commit_fault::serialization_failure, calls)));
  BOOST_TEST(calls == 2);
  calls = 0;
  auto const answered = w.idem().run(*w.sessions, make_request("b"),
                                     failing_once(commit_fault::constraint_violation, calls));
  BOOST_TEST((answered.error().what == errc::constraint_violation));
  BOOST_TEST((answered.error().certainty == certainty::rolled_back));
  BOOST_TEST(calls == 1);
  BOOST_TEST(w.ledger() == 1u);
}

BOOST_AUTO_TEST_CASE(doubt_without_a_second_connection_is_resolved_later) {
  using mem::commit_fault;
  for (auto const fault : {commit_fault::lost_before, commit_fault::lost_after}) {
    world w;
    auto const only = mem::connect(w.db);
    lone_session source(*only);
    int calls = 0;
    auto const answered = w.idem().run(source, make_request("k"), failing_once(fault, calls));
    BOOST_TEST((answered.error().what == errc::commit_in_doubt));
    BOOST_TEST((must(only->status()) == transaction_status::unknown));
    auto const other = mem::connect(w.db);
    auto const found = must(w.idem().resolve(*other, make_request("k"), answered.error().attempts));
    if (fault == commit_fault::lost_before)
      BOOST_TEST(std::holds_alternative<resolved::absent>(found));
    else
      BOOST_TEST((std::get<resolved::executed>(found).response == ok()));
  }
}

BOOST_AUTO_TEST_CASE(resolve_finds_the_key_held) {
  world w;
  holder first(w, "k");
  auto const other = mem::connect(w.db);
  std::array const attempts{first.token->attempt()};
  call_limits no_wait;
  no_wait.wait_limit = 0ms;
  auto const found = must(w.idem().resolve(*other, make_request("k"), attempts, no_wait));
  BOOST_TEST(std::holds_alternative<resolved::open>(found));
}

BOOST_AUTO_TEST_CASE(transaction_ended_by_the_effect) {
  for (auto const& text : {"COMMIT", "ROLLBACK"}) {
    world w;
    auto const answered =
        w.idem().run(*w.sessions, make_request("k"), [&](transaction& tx) -> result<response> {
          must(mem::append(tx, "ledger", "before"));
          must(tx.execute(text));
          BOOST_TEST(
              (mem::append(tx, "ledger", "after").error().what == errc::transaction_replaced));
          return ok();
        });
    BOOST_TEST((answered.error().what == errc::transaction_replaced));
    BOOST_TEST((answered.error().certainty == certainty::in_doubt));
    BOOST_TEST(answered.error().attempts.size() == 1u);
    bool const committed = std::string_view(text) == "COMMIT";
    BOOST_TEST(w.ledger() == (committed ? 1u : 0u));
    if (committed)
      BOOST_TEST((w.debit("k").error().what == errc::incomplete));
    else
      get<executed>(w.debit("k"));
    BOOST_TEST(w.db->open_transactions() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(transaction_replaced_by_the_effect) {
  for (auto const chain : {true, false}) {
    world w;
    auto const answered =
        w.idem().run(*w.sessions, make_request("k"), [&](transaction& tx) -> result<response> {
          auto const before = mem::transaction_serial(tx.session());
          must(mem::append(tx, "ledger", "before"));
          must(tx.execute(chain ? "COMMIT AND CHAIN" : "COMMIT"));
          if (!chain) must(tx.execute("BEGIN"));
          BOOST_TEST(mem::transaction_serial(tx.session()) != before);
          must(mem::append(tx, "ledger", "after"));
          return ok();
        });
    BOOST_TEST((answered.error().what == errc::transaction_replaced));
    BOOST_TEST(w.ledger() == 1u);
    auto const s = mem::connect(w.db);
    auto const request = make_request("k");
    BOOST_TEST(must(w.idem().settle(*s, request.identity(), settle_as_executed{ok("settled")})));
    BOOST_TEST(get<replayed>(w.debit("k")).response.body.value() == "settled");
  }
}

BOOST_AUTO_TEST_CASE(a_thread_that_ends_in_its_effect_leaves_nothing) {
  world w;
  std::thread([&] {
    auto const ended = w.idem().run(*w.sessions, make_request("k"), [&](transaction& tx) {
      must(mem::append(tx, "ledger", "row"));
      pthread_exit(nullptr);
      return ok();
    });
  }).join();
  BOOST_TEST(w.ledger() == 0u);
  BOOST_TEST(w.db->open_transactions() == 0u);
  get<executed>(w.debit("k"));
}

BOOST_AUTO_TEST_CASE(claim_and_complete_in_the_callers_transaction) {
  world w;
  auto const s = mem::connect(w.db);
  must(s->begin({}));
  auto tx = must(transaction::adopt(*s));
  auto claim_of = [&](std::string_view key) {
    return std::get<claim_token>(must(w.idem().claim(tx, make_request(key))));
  };
  auto a = claim_of("a");
  auto b = claim_of("b");
  BOOST_TEST((w.idem().claim(tx, make_request("a")).error().what == errc::claim_open));
  must(mem::append(tx, "ledger", "both"));
  must(w.idem().complete(tx, std::move(a), ok("a")));
  must(w.idem().complete(tx, std::move(b), ok("b")));
  auto const again = must(w.idem().claim(tx, make_request("a")));
  BOOST_TEST(std::get<replayed>(again).response.body.value() == "a");
  auto const other = must(w.idem().claim(tx, make_request("a", "other")));
  BOOST_TEST(std::holds_alternative<mismatched>(other));
  BOOST_TEST(w.db->committed_records() == 0u);
  must(s->commit({}, {}));
  BOOST_TEST(get<replayed>(w.debit("b")).response.body.value() == "b");
  BOOST_TEST(w.ledger() == 1u);
}

BOOST_AUTO_TEST_CASE(claim_in_progress_leaves_the_callers_transaction_usable) {
  world w;
  holder first(w, "k");
  auto const s = mem::connect(w.db);
  auto tx = must(transaction::begin(*s));
  must(mem::append(tx, "ledger", "mine"));
  claim_options options;
  options.wait_limit = 0ms;
  auto const claimed = must(w.idem().claim(tx, make_request("k"), options));
  BOOST_TEST(std::holds_alternative<in_progress>(claimed));
  must(tx.commit());
  BOOST_TEST(w.ledger() == 1u);
}

BOOST_AUTO_TEST_CASE(dropped_claim) {
  world w;
  {
    holder first(w, "k");
    first.token.reset();
    BOOST_TEST((first.tx->commit().error().what == errc::transaction_aborted));
  }
  BOOST_TEST(w.db->committed_records() == 0u);
  auto const s = mem::connect(w.db);
  must(s->begin({}));
  {
    auto tx = must(transaction::adopt(*s));
    must(w.idem().claim(tx, make_request("k")));  // dropped, and the caller commits it
  }
  must(s->commit({}, {}));
  BOOST_TEST((w.debit("k").error().what == errc::incomplete));
  auto const request = make_request("k");
  BOOST_TEST(must(w.idem().settle(*s, request.identity(), settle_discard{})));
  get<executed>(w.debit("k"));
}

BOOST_AUTO_TEST_CASE(many_threads_and_keys) {
  constexpr int workers = 4;
  constexpr int keys = 40;
  world w;
  std::atomic<int> ran = 0;
  std::atomic<int> wrong = 0;
  std::latch together(workers);
  {
    std::vector<std::jthread> all;
    for (int worker = 0; worker < workers; ++worker)
      all.emplace_back([&, worker] {
        together.arrive_and_wait();
        for (int i = 0; i < keys; ++i) {
          // Every other worker goes backwards, so that keys meet in both orders.
          auto const key = std::to_string(worker % 2 == 0 ? i : keys - 1 - i);
          auto const answered = w.debit(key);
          if (answered && std::holds_alternative<executed>(*answered))
            ++ran;
          else if (!answered || !std::holds_alternative<replayed>(*answered))
            ++wrong;
        }
      });
  }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(ran == keys);
  BOOST_TEST(w.ledger() == std::size_t{keys});
  BOOST_TEST(w.balance() == keys);
  BOOST_TEST(w.db->open_transactions() == 0u);
}

BOOST_AUTO_TEST_CASE(restart_wakes_waiters_and_run_goes_on) {
  world w;
  get<executed>(w.debit("before"));
  holder first(w, "k");
  std::atomic<session*> waiter = nullptr;
  session_pool watched(
      [&](call_limits const&) -> result<std::unique_ptr<session>> {
        auto made = mem::connect(w.db);
        waiter = made.get();
        return made;
      },
      2);
  result<outcome> answered = in_progress{};
  std::jthread second(
      [&] { answered = w.idem().run(watched, make_request("k"), world::debit_effect("k")); });
  await([&] { return waiter != nullptr && mem::waiting(*waiter); });
  w.db->restart();
  second.join();
  get<executed>(answered);
  BOOST_TEST(w.seen.retries == 1);
  BOOST_TEST(w.db->starts() == 2u);
  BOOST_TEST(w.ledger() == 2u);
  BOOST_TEST((must(first.own->status()) == transaction_status::unknown));
  auto const late = first.tx->commit();
  BOOST_TEST(!late.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
