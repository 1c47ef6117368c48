// SPDX-License-Identifier: BSL-1.0
// What an effect does with the handle between the session's begin and its commit.
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <chrono>

#include <idem/sqlite.h>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)

struct guarded {
  std::unique_ptr<session> s = open_sqlite("sqlite::memory:?name=guarded");
  std::unique_ptr<session> other = open_sqlite("sqlite::memory:?name=guarded");

  guarded() {
    run(*s, "CREATE TABLE t (x INTEGER PRIMARY KEY)");
    run(*s, "INSERT INTO t VALUES (1)");
    BOOST_REQUIRE(s->begin({}));
    run(*s, "INSERT INTO t VALUES (2)");
  }

  /// Nothing of the operation stays, whatever the effect did, and the session can go on.
  void nothing_stays(errc commit_says) {
    auto const committed = s->commit({}, {});
    BOOST_REQUIRE(!committed);
    BOOST_TEST(to_string(committed.error().what) == to_string(commit_says));
    BOOST_TEST((committed.error().certainty == certainty::rolled_back));
    BOOST_REQUIRE(s->rollback());
    BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 1);
    BOOST_REQUIRE(s->begin({}));
    run(*s, "INSERT INTO t VALUES (2)");
    BOOST_REQUIRE(s->commit({}, {}));
    BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 2);
  }

  void is_over() {
    BOOST_TEST(sqlite3_get_autocommit(sqlite::handle(*s)) == 1);
    BOOST_TEST((s->status().value() == transaction_status::idle));
    auto const e = run_error(*s, "INSERT INTO t VALUES (3)");
    BOOST_TEST((e.what == errc::transaction_replaced));
    BOOST_TEST(e.native.code == 0);  // not sent
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_guard, guarded)

BOOST_AUTO_TEST_CASE(the_guard_is_told) {
  BOOST_TEST(s->guards_commit());
  BOOST_REQUIRE(s->commit({}, {}));
}

BOOST_AUTO_TEST_CASE(a_commit_on_the_handle_becomes_a_rollback) {
  BOOST_TEST(raw(*s, "COMMIT") == SQLITE_CONSTRAINT_COMMITHOOK);
  auto const pending = s->pending_error();
  BOOST_REQUIRE(pending);
  BOOST_TEST((pending->what == errc::transaction_replaced));
  is_over();
  nothing_stays(errc::transaction_replaced);
}

BOOST_AUTO_TEST_CASE(a_commit_through_the_port_becomes_a_rollback) {
  for (auto const* text : {"COMMIT", "END TRANSACTION"}) {
    auto const e = run_error(*s, text);
    BOOST_TEST((e.what == errc::transaction_replaced), text);
    is_over();
    BOOST_REQUIRE(s->rollback());
    BOOST_REQUIRE(s->begin({}));
  }
  BOOST_REQUIRE(s->rollback());
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_CASE(what_follows_an_automatic_rollback_cannot_autocommit) {
  BOOST_TEST(raw(*s, "INSERT OR ROLLBACK INTO t VALUES (1)") == SQLITE_CONSTRAINT_PRIMARYKEY);
  BOOST_TEST(raw(*s, "INSERT INTO t VALUES (4)") == SQLITE_CONSTRAINT_COMMITHOOK);
  BOOST_TEST(raw(*s, "CREATE TABLE u (x)") == SQLITE_CONSTRAINT_COMMITHOOK);
  BOOST_TEST(raw(*s, "DELETE FROM t") == SQLITE_CONSTRAINT_COMMITHOOK);
  BOOST_TEST(raw(*s, "PRAGMA user_version = 9") == SQLITE_CONSTRAINT_COMMITHOOK);
  is_over();
  nothing_stays(errc::transaction_replaced);
}

BOOST_AUTO_TEST_CASE(a_rollback_on_the_handle_is_seen) {
  BOOST_TEST(raw(*s, "ROLLBACK") == SQLITE_OK);
  is_over();
  nothing_stays(errc::transaction_replaced);
}

BOOST_AUTO_TEST_CASE(a_rollback_through_the_port_is_seen) {
  BOOST_TEST((run_error(*s, "ROLLBACK").what == errc::transaction_replaced));
  is_over();
  nothing_stays(errc::transaction_replaced);
}

BOOST_AUTO_TEST_CASE(another_transaction_in_its_place_is_not_ours) {
  BOOST_TEST(raw(*s, "ROLLBACK") == SQLITE_OK);
  BOOST_TEST(raw(*s, "BEGIN IMMEDIATE; INSERT INTO t VALUES (5)") == SQLITE_OK);
  BOOST_TEST((s->status().value() == transaction_status::failed));
  BOOST_TEST((run_error(*s, "SELECT 1").what == errc::transaction_replaced));
  nothing_stays(errc::transaction_replaced);
}

BOOST_AUTO_TEST_CASE(a_savepoint_in_its_place_cannot_be_released) {
  BOOST_TEST(raw(*s, "ROLLBACK") == SQLITE_OK);
  BOOST_TEST(raw(*s, "SAVEPOINT idem_claim; INSERT INTO t VALUES (5)") == SQLITE_OK);
  BOOST_TEST(raw(*s, "RELEASE idem_claim") == SQLITE_CONSTRAINT_COMMITHOOK);
  nothing_stays(errc::transaction_replaced);
}

BOOST_AUTO_TEST_CASE(savepoints_inside_the_transaction_are_free) {
  BOOST_TEST(raw(*s, "SAVEPOINT a; INSERT INTO t VALUES (6); RELEASE a") == SQLITE_OK);
  BOOST_TEST(raw(*s, "SAVEPOINT b; INSERT INTO t VALUES (7); ROLLBACK TO b; RELEASE b") ==
             SQLITE_OK);
  BOOST_TEST((run_error(*s, "RELEASE a").what == errc::statement_failed));
  BOOST_TEST((s->status().value() == transaction_status::open));
  BOOST_REQUIRE(s->commit({}, {}));
  BOOST_TEST(number(*other, "SELECT sum(x) FROM t") == 9);
}

BOOST_AUTO_TEST_CASE(a_hook_of_the_effect_lasts_until_the_next_begin) {
  sqlite3_commit_hook(sqlite::handle(*s), nullptr, nullptr);
  BOOST_REQUIRE(s->commit({}, {}));
  BOOST_REQUIRE(s->begin({}));
  BOOST_TEST(raw(*s, "COMMIT") == SQLITE_CONSTRAINT_COMMITHOOK);
}

BOOST_AUTO_TEST_CASE(outside_an_operation_the_handle_commits_as_usual) {
  BOOST_REQUIRE(s->rollback());
  BOOST_TEST(raw(*s, "INSERT INTO t VALUES (8)") == SQLITE_OK);
  BOOST_TEST(raw(*s, "BEGIN; INSERT INTO t VALUES (9); COMMIT") == SQLITE_OK);
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 3);
}

BOOST_AUTO_TEST_CASE(a_session_destroyed_in_a_transaction_leaves_nothing) {
  s.reset();
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_CASE(a_statement_that_was_not_finalized_outlives_its_session_and_does_no_harm) {
  BOOST_REQUIRE(s->rollback());
  auto* db = sqlite::handle(*s);
  sqlite3_stmt* left = nullptr;
  BOOST_REQUIRE(sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?1) RETURNING x", -1, &left,
                                   nullptr) == SQLITE_OK);
  BOOST_TEST(raw(*s, "BEGIN IMMEDIATE; INSERT INTO t VALUES (30)") == SQLITE_OK);
  s.reset();
  BOOST_REQUIRE(other->begin(begin_waiting(std::chrono::milliseconds(0))));
  BOOST_REQUIRE(other->rollback());
  sqlite3_bind_int(left, 1, 31);
  BOOST_TEST(sqlite3_step(left) == SQLITE_ROW);  // the handle is still there, without our hooks
  BOOST_TEST(sqlite3_finalize(left) == SQLITE_OK);
  BOOST_TEST(number(*other, "SELECT sum(x) FROM t") == 32);
}

BOOST_AUTO_TEST_SUITE_END()
