// SPDX-License-Identifier: BSL-1.0
// The port over SQLite: values, statements, transactions. Real SQLite only.
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include <idem/sqlite.h>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)

struct in_memory {
  std::unique_ptr<session> s = open_sqlite("sqlite::memory:");
};

value round_trip(session& s, parameter p) { return run(s, "SELECT ?1", {std::move(p)})[0][0]; }

std::string type_of(session& s, parameter p) {
  return as_text(run(s, "SELECT typeof(?1)", {std::move(p)})[0][0]);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_session, in_memory)

BOOST_AUTO_TEST_CASE(every_kind_of_value_comes_back_as_it_was) {
  BOOST_TEST(is_null(round_trip(*s, nullptr)));
  for (auto const n :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 53 | 1,
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    BOOST_TEST(as_integer(round_trip(*s, n)) == n);
  BOOST_TEST(std::get<double>(round_trip(*s, 0.1)) == 0.1);
  BOOST_TEST(std::get<std::string>(round_trip(*s, "Zoë 日本 🙂")) == "Zoë 日本 🙂");
  auto const with_nul = std::string("a\0b\0", 4);
  BOOST_TEST(std::get<std::string>(round_trip(*s, with_nul)) == with_nul);
  BOOST_TEST(std::get<blob>(round_trip(*s, blob_view{with_nul})).bytes == with_nul);
  std::string all_bytes(256, '\0');
  for (int i = 0; i < 256; ++i) all_bytes[static_cast<std::size_t>(i)] = static_cast<char>(i);
  BOOST_TEST(std::get<blob>(round_trip(*s, blob_view{all_bytes})).bytes == all_bytes);
  BOOST_TEST(as_integer(round_trip(*s, true)) == 1);
}

BOOST_AUTO_TEST_CASE(empty_is_not_null) {
  BOOST_TEST(type_of(*s, blob_view{}) == "blob");
  BOOST_TEST(type_of(*s, blob_view{std::string_view("")}) == "blob");
  BOOST_TEST(type_of(*s, std::string_view()) == "text");
  BOOST_TEST(type_of(*s, "") == "text");
  BOOST_TEST(type_of(*s, nullptr) == "null");
  BOOST_TEST(std::get<blob>(round_trip(*s, blob_view{})).bytes.empty());
  BOOST_TEST(std::get<std::string>(round_trip(*s, "")).empty());
}

BOOST_AUTO_TEST_CASE(a_large_value_comes_back_whole) {
  std::string const large(std::size_t{20} << 20, '\xfe');
  BOOST_TEST((std::get<blob>(round_trip(*s, blob_view{large})).bytes == large));
}

BOOST_AUTO_TEST_CASE(a_database_in_utf_16_gives_utf_8) {
  temporary_folder const folder;
  auto const wide = open_sqlite("sqlite:" + folder / "a.db");
  BOOST_TEST(raw(*wide, "PRAGMA encoding = 'UTF-16'; CREATE TABLE t (x, y)") == SQLITE_OK);
  run(*wide, "INSERT INTO t VALUES (?1, ?2)", {"日本 🙂", blob_view{"日本"}});
  auto const found = run(*wide, "SELECT x, y FROM t");
  BOOST_TEST(std::get<std::string>(found[0][0]) == "日本 🙂");
  BOOST_TEST(std::get<blob>(found[0][1]).bytes == "日本");
}

BOOST_AUTO_TEST_CASE(counts_the_rows_that_a_statement_wrote_and_no_others) {
  run(*s, "CREATE TABLE t (x INTEGER PRIMARY KEY, y)");
  BOOST_TEST(run(*s, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)").affected == 3);
  BOOST_TEST(run(*s, "SELECT * FROM t").affected == 0);
  BOOST_TEST(run(*s, "CREATE TABLE u (x)").affected == 0);
  BOOST_TEST(run(*s, "UPDATE t SET y = 0 WHERE x > 1").affected == 2);
  BOOST_TEST(run(*s, "UPDATE t SET y = 0 WHERE x > 9").affected == 0);
  BOOST_TEST(run(*s, "INSERT INTO t VALUES (1, 9) ON CONFLICT (x) DO NOTHING").affected == 0);
  BOOST_TEST(run(*s, "DELETE FROM t").affected == 3);
  auto const returned = run(*s, "INSERT INTO t VALUES (7, 8) RETURNING x, y");
  BOOST_TEST(returned.affected == 1);
  BOOST_TEST(as_integer(returned[0][1]) == 8);
}

BOOST_AUTO_TEST_CASE(one_call_runs_several_statements_and_stops_at_the_first_that_fails) {
  run(*s, "CREATE TABLE t (x INTEGER PRIMARY KEY)");
  parameter const one[] = {1};
  parameter const two[] = {2};
  statement const all[] = {{"INSERT INTO t VALUES (?)", one},
                           {"SELECT count(*) FROM t", {}},
                           {"INSERT INTO t VALUES (?)", one},
                           {"INSERT INTO t VALUES (?)", two}};
  auto answered = s->execute(std::span(all).first(2), {});
  BOOST_REQUIRE(answered);
  BOOST_TEST(answered->size() == 2U);
  BOOST_TEST(as_integer((*answered)[1][0][0]) == 1);
  answered = s->execute(std::span(all).subspan(2), {});
  BOOST_REQUIRE(!answered);
  BOOST_TEST((answered.error().what == errc::unique_violation));
  BOOST_TEST(answered.error().native.code == SQLITE_CONSTRAINT_PRIMARYKEY);
  BOOST_TEST(number(*s, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_CASE(a_text_with_two_statements_is_refused_and_neither_runs) {
  run(*s, "CREATE TABLE t (x)");
  for (auto const* text : {"INSERT INTO t VALUES (1); DELETE FROM t", "INSERT INTO t VALUES (1);;x",
                           "INSERT INTO t VALUES (1); /* c */ SELECT 1"})
    BOOST_TEST((run_error(*s, text).what == errc::invalid_argument), text);
  BOOST_TEST((run_error(*s, std::string_view("INSERT INTO t VALUES (1)\0;", 26)).what ==
              errc::invalid_argument));
  BOOST_TEST(number(*s, "SELECT count(*) FROM t") == 0);
}

BOOST_AUTO_TEST_CASE(blanks_and_comments_behind_a_statement_are_nothing) {
  for (auto const* text :
       {"SELECT 1;", "SELECT 1 ; \n\t;; ", "SELECT 1; -- end", "SELECT 1; /* end */",
        "SELECT 1; -- a\n /* b */ ; /* open", "-- first\nSELECT 1"})
    BOOST_TEST(number(*s, text) == 1, text);
  for (auto const* text : {"", " ", "-- nothing", "/* nothing */"})
    BOOST_TEST(run(*s, text).empty(), text);
}

BOOST_AUTO_TEST_CASE(the_number_of_parameters_must_fit) {
  BOOST_TEST((run_error(*s, "SELECT ?1", {}).what == errc::invalid_argument));
  BOOST_TEST((run_error(*s, "SELECT ?1", {1, 2}).what == errc::invalid_argument));
  BOOST_TEST((run_error(*s, "SELECT 1", {1}).what == errc::invalid_argument));
  BOOST_TEST(as_integer(run(*s, "SELECT ?2 + ?1 + ?2", {1, 10})[0][0]) == 21);
}

BOOST_AUTO_TEST_CASE(an_error_keeps_the_code_and_the_words_apart) {
  run(*s, "CREATE TABLE t (secret TEXT UNIQUE)");
  run(*s, "INSERT INTO t VALUES ('hidden')");
  auto const e = run_error(*s, "INSERT INTO t VALUES ('hidden')");
  BOOST_TEST(e.native.code == SQLITE_CONSTRAINT_UNIQUE);
  BOOST_TEST(e.native.message.contains("t.secret"));
  BOOST_TEST(e.message == "SQLite answered SQLITE_CONSTRAINT_UNIQUE");
  BOOST_TEST(e.native.sqlstate.empty());
}

BOOST_AUTO_TEST_CASE(more_texts_than_the_cache_holds_and_a_change_of_the_schema) {
  run(*s, "CREATE TABLE t (x)");
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 200; ++i) BOOST_TEST(number(*s, "SELECT " + std::to_string(i)) == i);
  BOOST_TEST(run(*s, "SELECT * FROM t").empty());
  run(*s, "ALTER TABLE t ADD COLUMN y DEFAULT 5");
  run(*s, "INSERT INTO t (x) VALUES (1)");
  BOOST_TEST(run(*s, "SELECT * FROM t")[0].size() == 2U);
}

BOOST_AUTO_TEST_CASE(commits_rolls_back_and_tells_its_status) {
  auto const is = [this](transaction_status wanted) { return s->status().value() == wanted; };
  run(*s, "CREATE TABLE t (x)");
  BOOST_TEST(is(transaction_status::idle));
  BOOST_REQUIRE(s->begin({}));
  BOOST_TEST(is(transaction_status::open));
  run(*s, "INSERT INTO t VALUES (1)");
  BOOST_REQUIRE(s->commit({}, {}));
  BOOST_TEST(is(transaction_status::idle));
  BOOST_REQUIRE(s->begin({}));
  statement const last{"INSERT INTO t VALUES (2)", {}};
  BOOST_REQUIRE(s->commit({&last, 1}, {}));
  BOOST_REQUIRE(s->begin({}));
  run(*s, "INSERT INTO t VALUES (3)");
  BOOST_REQUIRE(s->rollback());
  BOOST_REQUIRE(s->rollback());
  BOOST_TEST(is(transaction_status::idle));
  BOOST_TEST(number(*s, "SELECT sum(x) FROM t") == 3);
}

BOOST_AUTO_TEST_CASE(a_failed_last_statement_stops_the_commit) {
  run(*s, "CREATE TABLE t (x UNIQUE)");
  BOOST_REQUIRE(s->begin({}));
  run(*s, "INSERT INTO t VALUES (1)");
  statement const last{"INSERT INTO t VALUES (1)", {}};
  auto const committed = s->commit({&last, 1}, {});
  BOOST_REQUIRE(!committed);
  BOOST_TEST((committed.error().what == errc::unique_violation));
  BOOST_TEST((committed.error().certainty == certainty::rolled_back));
  BOOST_REQUIRE(s->rollback());
  BOOST_TEST(number(*s, "SELECT count(*) FROM t") == 0);
}

BOOST_AUTO_TEST_CASE(begin_and_commit_refuse_what_is_not_theirs) {
  auto const committed = s->commit({}, {});
  BOOST_REQUIRE(!committed);
  BOOST_TEST((committed.error().what == errc::transaction_not_open));
  BOOST_TEST(raw(*s, "BEGIN") == SQLITE_OK);
  auto const begun = s->begin({});
  BOOST_REQUIRE(!begun);
  BOOST_TEST((begun.error().what == errc::session_not_idle));
  BOOST_REQUIRE(s->rollback());
}

BOOST_AUTO_TEST_CASE(serializable_is_the_only_level) {
  for (auto const level : {isolation::engine_default, isolation::serializable}) {
    begin_options o;
    o.isolation = level;
    BOOST_REQUIRE(s->begin(o));
    BOOST_REQUIRE(s->rollback());
  }
  for (auto const level : {isolation::read_uncommitted, isolation::read_committed,
                           isolation::repeatable_read, isolation::snapshot}) {
    begin_options o;
    o.isolation = level;
    auto const begun = s->begin(o);
    BOOST_REQUIRE(!begun);
    BOOST_TEST((begun.error().what == errc::isolation_mismatch));
    BOOST_TEST((s->status().value() == transaction_status::idle));
  }
}

BOOST_AUTO_TEST_CASE(a_read_only_transaction_writes_nothing_and_the_next_one_does) {
  run(*s, "CREATE TABLE t (x)");
  begin_options o;
  o.read_only = true;
  for (bool const commit : {true, false}) {
    BOOST_REQUIRE(s->begin(o));
    BOOST_TEST(number(*s, "SELECT count(*) FROM t") == 0);
    BOOST_TEST((run_error(*s, "INSERT INTO t VALUES (1)").what == errc::read_only));
    BOOST_REQUIRE(commit ? s->commit({}, {}) : s->rollback());
  }
  BOOST_REQUIRE(s->begin({}));
  run(*s, "INSERT INTO t VALUES (1)");
  BOOST_REQUIRE(s->commit({}, {}));
}

BOOST_AUTO_TEST_CASE(an_unfinished_statement_of_the_user_makes_the_session_busy) {
  run(*s, "CREATE TABLE t (x)");
  run(*s, "INSERT INTO t VALUES (1), (2)");
  sqlite3_stmt* reading = nullptr;
  BOOST_REQUIRE(sqlite3_prepare_v2(sqlite::handle(*s), "SELECT x FROM t", -1, &reading, nullptr) ==
                SQLITE_OK);
  BOOST_REQUIRE(sqlite3_step(reading) == SQLITE_ROW);
  BOOST_TEST((s->status().value() == transaction_status::busy));
  auto const reset = s->reset();
  BOOST_REQUIRE(!reset);
  BOOST_TEST((reset.error().what == errc::session_not_idle));
  sqlite3_reset(reading);
  BOOST_TEST((s->status().value() == transaction_status::idle));
  BOOST_TEST(s->reset().has_value());
  sqlite3_finalize(reading);
}

BOOST_AUTO_TEST_CASE(reset_ends_the_transaction_and_puts_settings_back) {
  run(*s, "CREATE TABLE t (x CHECK (x > 0))");
  BOOST_TEST(raw(*s,
                 "PRAGMA foreign_keys = ON; PRAGMA query_only = ON;"
                 "PRAGMA ignore_check_constraints = ON; PRAGMA busy_timeout = 1") == SQLITE_OK);
  BOOST_TEST(raw(*s, "BEGIN") == SQLITE_OK);
  BOOST_REQUIRE(s->reset());
  BOOST_TEST((s->status().value() == transaction_status::idle));
  BOOST_TEST(number(*s, "SELECT * FROM pragma_foreign_keys") == 0);
  BOOST_TEST(number(*s, "SELECT * FROM pragma_query_only") == 0);
  BOOST_TEST((run_error(*s, "INSERT INTO t VALUES (-1)").what == errc::constraint_violation));
}

BOOST_AUTO_TEST_CASE(the_handle_tells_its_last_error) {
  BOOST_TEST(!s->pending_error());
  BOOST_TEST(raw(*s, "SELECT * FROM nowhere") == SQLITE_ERROR);
  auto const pending = s->pending_error();
  BOOST_REQUIRE(pending);
  BOOST_TEST((pending->what == errc::statement_failed));
  run(*s, "SELECT 1");
  BOOST_TEST(!s->pending_error());
}

BOOST_AUTO_TEST_CASE(a_deadline_stops_a_statement_that_runs_too_long) {
  call_limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  statement const endless{
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n", {}};
  auto answered = s->execute({&endless, 1}, limits);
  BOOST_REQUIRE(!answered);
  BOOST_TEST((answered.error().what == errc::deadline_exceeded));
  BOOST_TEST(answered.error().native.code == SQLITE_INTERRUPT);
  answered = s->execute({&endless, 1}, limits);
  BOOST_REQUIRE(!answered);
  BOOST_TEST((answered.error().what == errc::deadline_exceeded));
  BOOST_TEST(answered.error().native.code == 0);  // not sent
  BOOST_TEST(number(*s, "SELECT 1") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
