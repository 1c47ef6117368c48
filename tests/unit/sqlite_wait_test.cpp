// SPDX-License-Identifier: BSL-1.0
// Two connections and the lock between them.
#include <sqlite3.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include <idem/sqlite.h>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds long_enough{30000};

/// Passes everything on, as a caller's own session may.
class wrapped final : public session {
 public:
  explicit wrapped(session& inner) : inner_(&inner) {}
  dialect const& sql() const noexcept override { return inner_->sql(); }
  result<transaction_status> status() override { return inner_->status(); }
  result<> begin(begin_options const& o) override { return inner_->begin(o); }
  result<> commit(std::span<statement const> s, call_limits const& l) override {
    return inner_->commit(s, l);
  }
  result<> rollback() noexcept override { return inner_->rollback(); }
  result<std::vector<rows>> execute(std::span<statement const> s, call_limits const& l) override {
    return inner_->execute(s, l);
  }
  result<> reset() noexcept override { return inner_->reset(); }
  void* native_handle() noexcept override { return inner_->native_handle(); }

 private:
  session* inner_;
};

struct two_connections {
  std::string url = "sqlite::memory:?name=two&busy_ms=40";
  std::unique_ptr<session> first = open_sqlite(url);
  std::unique_ptr<session> second = open_sqlite(url);

  two_connections() { run(*first, "CREATE TABLE t (x)"); }

  void first_holds_the_lock() {
    BOOST_REQUIRE(first->begin({}));
    run(*first, "INSERT INTO t VALUES (1)");
  }
};

template <class F>
milliseconds time_of(F&& f) {
  auto const start = steady_clock::now();
  f();
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
}

void is_lock_timeout(result<> const& r) {
  BOOST_REQUIRE(!r);
  BOOST_TEST(to_string(r.error().what) == "lock_timeout");
  BOOST_TEST(to_string(r.error().advice) == "new_transaction");
  BOOST_TEST(r.error().native.code == SQLITE_BUSY);
}

/// Bounded, so that a broken test ends.
void until_waiting(session& s) {
  auto const end = steady_clock::now() + long_enough;
  while (!sqlite::waiting(s) && steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(1));
  BOOST_REQUIRE(sqlite::waiting(s));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_wait, two_connections)

BOOST_AUTO_TEST_CASE(connections_to_one_name_share_a_database_and_others_do_not) {
  run(*first, "INSERT INTO t VALUES (7)");
  BOOST_TEST(number(*second, "SELECT x FROM t") == 7);
  auto const unnamed = open_sqlite("sqlite::memory:");
  auto const another = open_sqlite("sqlite::memory:");
  run(*unnamed, "CREATE TABLE t (x)");
  run(*another, "CREATE TABLE t (x)");
}

BOOST_AUTO_TEST_CASE(a_wait_limit_of_zero_does_not_wait) {
  first_holds_the_lock();
  auto const asked = sqlite::busy_calls(*second);
  is_lock_timeout(second->begin(begin_waiting(milliseconds(0))));
  BOOST_TEST(sqlite::busy_calls(*second) == asked + 1);
  BOOST_TEST(!sqlite::waiting(*second));
  BOOST_TEST((second->status().value() == transaction_status::idle));
}

BOOST_AUTO_TEST_CASE(a_wait_limit_is_waited_for_and_not_much_longer) {
  first_holds_the_lock();
  auto const took =
      time_of([this] { is_lock_timeout(second->begin(begin_waiting(milliseconds(60)))); });
  BOOST_TEST(took.count() >= 60);
  BOOST_TEST(took.count() < 10000);
  BOOST_TEST(sqlite::busy_calls(*second) > 1U);
}

BOOST_AUTO_TEST_CASE(no_wait_limit_outlives_its_call) {
  first_holds_the_lock();
  is_lock_timeout(second->begin(begin_waiting(milliseconds(0))));
  auto took = time_of([this] { is_lock_timeout(second->begin({})); });
  BOOST_TEST(took.count() >= 40);  // busy_ms
  BOOST_REQUIRE(first->rollback());
  BOOST_REQUIRE(second->begin(begin_waiting(long_enough)));
  BOOST_REQUIRE(second->rollback());
  first_holds_the_lock();
  took = time_of([this] { is_lock_timeout(second->begin({})); });
  BOOST_TEST(took.count() < 20000);
  BOOST_TEST(raw(*second, "BEGIN IMMEDIATE") == SQLITE_BUSY);
  took = time_of([this] { raw(*second, "BEGIN IMMEDIATE"); });
  BOOST_TEST(took.count() >= 40);
}

BOOST_AUTO_TEST_CASE(the_waiter_goes_on_when_the_lock_is_free) {
  first_holds_the_lock();
  wrapped outside(*second);
  bool done = false;
  std::thread waiter([&] {  // Boost.Test is for one thread
    statement const count{"SELECT count(*) FROM t", {}};
    if (!second->begin(begin_waiting(long_enough))) return;
    auto const seen = second->execute({&count, 1}, {});
    done = seen && as_integer((*seen)[0][0][0]) == 1 && second->commit({}, {});
  });
  until_waiting(outside);
  BOOST_TEST(sqlite::busy_calls(outside) >= 1U);
  BOOST_TEST(first->commit({}, {}).has_value());
  waiter.join();
  BOOST_TEST(done);
  BOOST_TEST(!sqlite::waiting(outside));
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_wait) {
  first_holds_the_lock();
  std::stop_source stop;
  auto options = begin_waiting(long_enough);
  options.limits.stop = stop.get_token();
  result<> begun;
  std::thread waiter([&] { begun = second->begin(options); });
  until_waiting(*second);
  stop.request_stop();
  waiter.join();
  BOOST_REQUIRE(!begun);
  BOOST_TEST(to_string(begun.error().what) == "cancelled");
  BOOST_TEST(begun.error().native.code == SQLITE_BUSY);
  begun = second->begin(options);
  BOOST_REQUIRE(!begun);
  BOOST_TEST(to_string(begun.error().what) == "cancelled");
  BOOST_TEST(begun.error().native.code == 0);  // not sent
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_the_wait) {
  first_holds_the_lock();
  auto options = begin_waiting(long_enough);
  options.limits.deadline = steady_clock::now() + milliseconds(30);
  auto const begun = second->begin(options);
  BOOST_REQUIRE(!begun);
  BOOST_TEST(to_string(begun.error().what) == "deadline_exceeded");
  BOOST_TEST(to_string(begun.error().advice) == "never");
}

BOOST_AUTO_TEST_CASE(a_wait_of_the_effect_on_the_handle_is_seen_too) {
  BOOST_TEST(number(*second, "SELECT count(*) FROM t") == 0);
  first_holds_the_lock();
  auto const before = sqlite::busy_calls(*second);
  BOOST_TEST(raw(*second, "INSERT INTO t VALUES (2)") == SQLITE_BUSY);
  BOOST_TEST(sqlite::busy_calls(*second) > before);
  BOOST_TEST(!sqlite::waiting(*second));
}

BOOST_AUTO_TEST_CASE(a_table_that_is_not_yet_known_is_not_taken_for_a_missing_one) {
  BOOST_TEST(run_error(*second, "SELECT * FROM later").native.code == SQLITE_ERROR);
  run(*first, "CREATE TABLE later (x)");
  first_holds_the_lock();
  BOOST_TEST(to_string(run_error(*second, "SELECT * FROM later").what) == "lock_timeout");
  BOOST_TEST(raw(*second, "SELECT * FROM later") == SQLITE_ERROR);  // SQLite's own answer
  BOOST_REQUIRE(first->commit({}, {}));
  BOOST_TEST(run(*second, "SELECT * FROM later").empty());
  BOOST_TEST((run_error(*second, "SELECT * FROM never").what == errc::statement_failed));
  BOOST_REQUIRE(first->begin({}));  // no read lock was left behind
  run(*first, "INSERT INTO t VALUES (2)");
  BOOST_REQUIRE(first->commit({}, wait_at_most(milliseconds(0))));
}

BOOST_AUTO_TEST_CASE(an_old_snapshot_cannot_begin_to_write) {
  temporary_folder const folder;
  auto const file = "sqlite:" + folder / "a.db" + "?journal=wal";
  auto const old = open_sqlite(file);
  auto const writer = open_sqlite(file);
  run(*writer, "CREATE TABLE t (x)");
  BOOST_TEST(raw(*old, "BEGIN") == SQLITE_OK);
  BOOST_TEST(number(*old, "SELECT count(*) FROM t") == 0);
  run(*writer, "INSERT INTO t VALUES (1)");
  auto const e = run_error(*old, "INSERT INTO t VALUES (2)");
  BOOST_TEST(e.native.code == SQLITE_BUSY_SNAPSHOT);
  BOOST_TEST(to_string(e.what) == "serialization_failure");
  BOOST_TEST(to_string(e.advice) == "new_transaction");
}

BOOST_AUTO_TEST_CASE(with_wal_a_reader_does_not_wait_for_a_writer) {
  temporary_folder const folder;
  auto const file = "sqlite:" + folder / "a.db" + "?journal=wal";
  auto const writer = open_sqlite(file);
  auto const reader = open_sqlite(file);
  run(*writer, "CREATE TABLE t (x)");
  BOOST_REQUIRE(writer->begin({}));
  run(*writer, "INSERT INTO t VALUES (1)");
  BOOST_TEST(number(*reader, "SELECT count(*) FROM t") == 0);
  BOOST_TEST(sqlite::busy_calls(*reader) == 0U);
  BOOST_REQUIRE(writer->commit({}, {}));
  BOOST_TEST(number(*reader, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_CASE(a_pool_shares_its_database_in_memory_and_keeps_it) {
  auto pool = sqlite::open_pool("sqlite::memory:", 2);
  BOOST_REQUIRE(pool);
  auto* one = (*pool)->acquire({}).value();
  auto* two = (*pool)->acquire({}).value();
  run(*one, "CREATE TABLE t (x)");
  BOOST_REQUIRE(one->begin({}));
  is_lock_timeout(two->begin(begin_waiting(milliseconds(0))));
  (*pool)->release(one, false);
  (*pool)->release(two, false);
  auto* three = (*pool)->acquire({}).value();
  BOOST_TEST(number(*three, "SELECT count(*) FROM t") == 0);
  (*pool)->release(three, true);
}

BOOST_AUTO_TEST_CASE(a_session_in_memory_opens_and_resets_while_another_writes) {
  first_holds_the_lock();
  auto const third = open_sqlite(url);
  BOOST_TEST(third->reset().has_value());
  BOOST_TEST(sqlite::busy_calls(*third) == 0U);
}

BOOST_AUTO_TEST_CASE(many_threads_of_one_pool_lose_no_write) {
  temporary_folder const folder;
  for (auto const& url :
       {"sqlite:" + folder / "a.db" + "?journal=wal&synchronous=off",
        "sqlite:" + folder / "b.db" + "?synchronous=off", std::string("sqlite::memory:")}) {
    auto pool = sqlite::open_pool(url, 4);
    BOOST_REQUIRE(pool);
    {
      auto lease = session_lease::acquire(**pool, {});
      run(**lease, "CREATE TABLE t (x)");
      run(**lease, "INSERT INTO t VALUES (0)");
    }
    std::atomic<int> failed{0};
    auto const add = [&pool, &failed] {
      for (int i = 0; i < 25; ++i) {
        auto lease = session_lease::acquire(**pool, {});
        auto& s = **lease;
        statement const more{"UPDATE t SET x = x + 1", {}};
        bool const ok = s.begin(begin_waiting(long_enough)) && s.execute({&more, 1}, {}) &&
                        s.commit({}, wait_at_most(long_enough));
        if (!ok) ++failed;
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(add);
    for (auto& t : threads) t.join();
    BOOST_TEST(failed == 0, url);
    auto lease = session_lease::acquire(**pool, {});
    BOOST_TEST(number(**lease, "SELECT x FROM t") == 100, url);
  }
}

BOOST_AUTO_TEST_SUITE_END()
