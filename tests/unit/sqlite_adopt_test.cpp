// SPDX-License-Identifier: BSL-1.0
// A session over a handle that the caller owns.
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <chrono>

#include <idem/sqlite.h>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)
using std::chrono::milliseconds;

struct callers_handle {
  temporary_folder folder;
  std::string path = folder / "a.db";
  sqlite3* db = nullptr;
  std::unique_ptr<session> other = open_sqlite("sqlite:" + path);

  callers_handle() {
    BOOST_REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    run(*other, "CREATE TABLE t (x INTEGER PRIMARY KEY)");
  }
  ~callers_handle() { BOOST_TEST(sqlite3_close(db) == SQLITE_OK); }

  int busy_timeout() const {
    sqlite3_stmt* s = nullptr;
    sqlite3_prepare_v2(db, "PRAGMA busy_timeout", -1, &s, nullptr);
    sqlite3_step(s);
    int const ms = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return ms;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_adopt, callers_handle)

BOOST_AUTO_TEST_CASE(works_and_leaves_the_handle_open_and_as_it_was) {
  sqlite3_busy_timeout(db, 123);
  {
    auto const s = sqlite::adopt(db);
    BOOST_TEST(sqlite::handle(*s) == db);
    BOOST_TEST(!s->guards_commit());
    BOOST_REQUIRE(s->begin(begin_waiting(milliseconds(7))));
    BOOST_TEST(busy_timeout() == 123);
    run(*s, "INSERT INTO t VALUES (1)");
    BOOST_REQUIRE(s->commit({}, wait_at_most(milliseconds(0))));
    BOOST_TEST(busy_timeout() == 123);
    BOOST_REQUIRE(s->reset());
  }
  BOOST_TEST(busy_timeout() == 123);
  BOOST_TEST(sqlite3_exec(db, "INSERT INTO t VALUES (1)", nullptr, nullptr, nullptr) ==
             SQLITE_CONSTRAINT);  // extended result codes are still off
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_CASE(tells_the_extended_code_all_the_same) {
  auto const s = sqlite::adopt(db);
  run(*s, "INSERT INTO t VALUES (1)");
  auto const e = run_error(*s, "INSERT INTO t VALUES (1)");
  BOOST_TEST(e.native.code == SQLITE_CONSTRAINT_PRIMARYKEY);
  BOOST_TEST((e.what == errc::unique_violation));
}

BOOST_AUTO_TEST_CASE(waits_as_the_call_says_or_else_as_the_handle_is_set) {
  BOOST_REQUIRE(other->begin({}));
  auto const s = sqlite::adopt(db);
  auto const took = [&](begin_options const& o) {
    auto const start = std::chrono::steady_clock::now();
    BOOST_TEST(!s->begin(o));
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start)
        .count();
  };
  BOOST_TEST(took(begin_waiting(milliseconds(50))) >= 50);
  BOOST_TEST(sqlite::busy_calls(*s) > 0U);
  sqlite3_busy_timeout(db, 60);
  BOOST_TEST(took({}) >= 60);
  begin_options with_deadline;
  with_deadline.limits.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  BOOST_TEST(took(with_deadline) >= 60);
  BOOST_TEST(busy_timeout() == 60);
}

BOOST_AUTO_TEST_CASE(a_handler_of_the_caller_stays_in_calls_without_limits) {
  int asked = 0;
  auto const handler = [](void* count, int) { return ++*static_cast<int*>(count) < 3 ? 1 : 0; };
  sqlite3_busy_handler(db, handler, &asked);
  BOOST_REQUIRE(other->begin({}));
  auto const s = sqlite::adopt(db);
  BOOST_TEST(!s->begin({}));
  BOOST_TEST(asked == 3);
  BOOST_TEST(!s->begin(begin_waiting(milliseconds(0))));
  BOOST_TEST(!s->begin({}));
  BOOST_TEST(asked == 3);  // lost, as the header says
}

BOOST_AUTO_TEST_CASE(a_transaction_of_the_caller_is_his) {
  BOOST_TEST(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  {
    auto const s = sqlite::adopt(db);
    BOOST_TEST((s->status().value() == transaction_status::open));
    run(*s, "INSERT INTO t VALUES (1)");
    BOOST_TEST((s->begin({}).error().what == errc::session_not_idle));
  }
  BOOST_TEST(sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK);
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_CASE(a_transaction_that_it_began_is_rolled_back_with_it) {
  {
    auto const s = sqlite::adopt(db);
    BOOST_REQUIRE(s->begin({}));
    run(*s, "INSERT INTO t VALUES (1)");
  }
  BOOST_TEST(sqlite3_get_autocommit(db) == 1);
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 0);
}

BOOST_AUTO_TEST_CASE(what_an_effect_committed_is_found_and_is_in_doubt) {
  auto const s = sqlite::adopt(db);
  BOOST_REQUIRE(s->begin({}));
  run(*s, "INSERT INTO t VALUES (1)");
  BOOST_TEST(raw(*s, "COMMIT") == SQLITE_OK);
  BOOST_TEST((run_error(*s, "INSERT INTO t VALUES (2)").what == errc::transaction_replaced));
  auto const committed = s->commit({}, {});
  BOOST_REQUIRE(!committed);
  BOOST_TEST(to_string(committed.error().what) == "transaction_replaced");
  BOOST_TEST(to_string(committed.error().certainty) == "in_doubt");
  BOOST_REQUIRE(s->rollback());
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_CASE(a_read_only_setting_of_the_caller_stays) {
  BOOST_TEST(sqlite3_exec(db, "PRAGMA query_only = ON", nullptr, nullptr, nullptr) == SQLITE_OK);
  auto const s = sqlite::adopt(db);
  begin_options o;
  o.read_only = true;
  BOOST_REQUIRE(s->begin(o));
  BOOST_REQUIRE(s->commit({}, {}));
  BOOST_TEST((run_error(*s, "INSERT INTO t VALUES (1)").what == errc::read_only));
}

BOOST_AUTO_TEST_SUITE_END()
