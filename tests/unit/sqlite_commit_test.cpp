// SPDX-License-Identifier: BSL-1.0
// A COMMIT that fails, and what is true afterwards.
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include <idem/sqlite.h>

#include "tests/support/sqlite_database.h"
#include "tests/support/sqlite_faults.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)
using std::chrono::milliseconds;

struct file_database {
  sqlite_faults faults;
  temporary_folder folder;
  std::unique_ptr<session> s;

  void open(std::string const& options) {
    s = open_sqlite("sqlite:" + folder / "a.db" + options);
    run(*s, "CREATE TABLE t (x INTEGER PRIMARY KEY, filler)");
    run(*s, "INSERT INTO t VALUES (1, zeroblob(9000))");
  }

  void begin_and_write() {
    BOOST_REQUIRE(s->begin({}));
    run(*s, "INSERT INTO t VALUES (2, zeroblob(9000))");
    run(*s, "UPDATE t SET filler = randomblob(9000) WHERE x = 1");
  }

  error failed_commit(call_limits const& limits = {}) {
    auto committed = s->commit({}, limits);
    BOOST_REQUIRE(!committed);
    BOOST_TEST((committed.error().phase == phase::commit));
    return std::move(committed).error();
  }

  error commit_with(sqlite_fault fault, int code) {
    sqlite_faults::arm(fault, code);
    auto e = failed_commit();
    sqlite_faults::disarm();
    return e;
  }

  /// What is found by one who comes after the machine went down: the files as they are, and
  /// none of this process's memory of them.
  std::int64_t rows_after_a_crash() const {
    temporary_folder const copy;
    for (auto const* name : {"a.db", "a.db-wal", "a.db-journal"})
      if (std::filesystem::exists(folder / name))
        std::filesystem::copy_file(folder / name, copy / name);
    return number(*open_sqlite("sqlite:" + copy / "a.db"), "SELECT count(*) FROM t");
  }

  std::int64_t rows_now() const {
    return number(*open_sqlite("sqlite:" + folder / "a.db"), "SELECT count(*) FROM t");
  }

  void the_session_goes_on() {
    BOOST_TEST((s->status().value() == transaction_status::idle));
    BOOST_REQUIRE(s->rollback());
    BOOST_REQUIRE(s->begin({}));
    run(*s, "INSERT INTO t VALUES (3, NULL)");
    BOOST_REQUIRE(s->commit({}, {}));
    BOOST_REQUIRE(s->reset());
  }
};

begin_options reading() {
  begin_options o;
  o.read_only = true;
  return o;
}

void is_in_doubt(error const& e, int code) {
  BOOST_TEST(to_string(e.what) == "commit_in_doubt");
  BOOST_TEST(to_string(e.certainty) == "in_doubt");
  BOOST_TEST(to_string(e.advice) == "resolve_first");
  BOOST_TEST(e.native.code == code);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_commit, file_database)

BOOST_AUTO_TEST_CASE(a_deferred_foreign_key_fails_at_commit) {
  open("?foreign_keys=on");
  run(*s, "CREATE TABLE child (x REFERENCES t DEFERRABLE INITIALLY DEFERRED)");
  BOOST_REQUIRE(s->begin({}));
  run(*s, "INSERT INTO child VALUES (99)");
  auto const e = failed_commit();
  BOOST_TEST(e.native.code == SQLITE_CONSTRAINT_FOREIGNKEY);
  BOOST_TEST(to_string(e.what) == "constraint_violation");
  BOOST_TEST(to_string(e.advice) == "never");
  BOOST_TEST(to_string(e.certainty) == "rolled_back");
  BOOST_TEST((s->status().value() == transaction_status::open));
  BOOST_REQUIRE(s->rollback());
  BOOST_TEST(number(*s, "SELECT count(*) FROM child") == 0);
}

BOOST_AUTO_TEST_CASE(a_reader_of_a_rollback_journal_makes_commit_busy) {
  open("?journal=delete");
  auto const reader = open_sqlite("sqlite:" + folder / "a.db");
  BOOST_REQUIRE(reader->begin(reading()));
  BOOST_TEST(number(*reader, "SELECT count(*) FROM t") == 1);
  begin_and_write();
  auto const asked = sqlite::busy_calls(*s);
  auto const e = failed_commit(wait_at_most(milliseconds(20)));
  BOOST_TEST(sqlite::busy_calls(*s) > asked + 1);
  BOOST_TEST(e.native.code == SQLITE_BUSY);
  BOOST_TEST(to_string(e.what) == "lock_timeout");
  BOOST_TEST(to_string(e.advice) == "new_transaction");
  BOOST_TEST(to_string(e.certainty) == "rolled_back");
  BOOST_TEST((s->status().value() == transaction_status::open));
  BOOST_REQUIRE(reader->commit({}, {}));
  BOOST_REQUIRE(s->commit({}, wait_at_most(milliseconds(0))));
  BOOST_TEST(rows_now() == 2);
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_the_wait_for_readers) {
  open("?journal=delete");
  auto const reader = open_sqlite("sqlite:" + folder / "a.db");
  BOOST_REQUIRE(reader->begin(reading()));
  BOOST_TEST(number(*reader, "SELECT count(*) FROM t") == 1);
  begin_and_write();
  call_limits limits;
  limits.deadline = std::chrono::steady_clock::now() + milliseconds(20);
  auto const e = failed_commit(limits);
  BOOST_TEST(to_string(e.what) == "deadline_exceeded");
  BOOST_TEST(to_string(e.certainty) == "rolled_back");
  BOOST_TEST(to_string(failed_commit(limits).certainty) == "rolled_back");  // not sent
  BOOST_REQUIRE(s->rollback());
}

BOOST_AUTO_TEST_CASE(an_unfinished_writing_statement_of_the_effect_is_named) {
  open("");
  BOOST_REQUIRE(s->begin({}));
  sqlite3_stmt* writing = nullptr;
  BOOST_REQUIRE(sqlite3_prepare_v2(sqlite::handle(*s), "INSERT INTO t VALUES (7, 1) RETURNING x",
                                   -1, &writing, nullptr) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_step(writing) == SQLITE_ROW);
  auto const e = failed_commit();
  BOOST_TEST(e.native.code == SQLITE_BUSY);
  BOOST_TEST(to_string(e.what) == "session_not_idle");
  BOOST_TEST(to_string(e.advice) == "never");
  sqlite3_finalize(writing);
  BOOST_REQUIRE(s->commit({}, {}));
}

BOOST_AUTO_TEST_CASE(a_full_disk_rolls_back) {
  for (auto const* mode : {"?journal=delete", "?journal=wal"}) {
    BOOST_TEST_CONTEXT(mode) {
      open(mode);
      begin_and_write();
      auto const e = commit_with(sqlite_fault::write, SQLITE_FULL);
      BOOST_TEST(to_string(e.what) == "resource_exhausted");
      BOOST_TEST(to_string(e.certainty) == "rolled_back");
      BOOST_TEST(rows_after_a_crash() == 1);
      the_session_goes_on();
      BOOST_TEST(rows_now() == 2);
      s.reset();
      std::filesystem::remove(folder / "a.db");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_wal_that_cannot_be_synced_leaves_the_commit_in_doubt) {
  open("?journal=wal&synchronous=full");
  begin_and_write();
  is_in_doubt(commit_with(sqlite_fault::sync, SQLITE_IOERR_FSYNC), SQLITE_IOERR_FSYNC);
  BOOST_TEST(rows_now() == 1);            // SQLite believes that it rolled back
  BOOST_TEST(rows_after_a_crash() == 2);  // but the commit frame is in the file
  the_session_goes_on();
}

BOOST_AUTO_TEST_CASE(a_journal_that_went_but_whose_folder_failed_leaves_it_in_doubt) {
  open("?journal=delete");
  begin_and_write();
  is_in_doubt(commit_with(sqlite_fault::remove_after, SQLITE_IOERR_DIR_FSYNC),
              SQLITE_IOERR_DIR_FSYNC);
  BOOST_TEST(rows_after_a_crash() == 2);
}

BOOST_AUTO_TEST_CASE(a_journal_that_cannot_be_removed_leaves_it_in_doubt) {
  open("?journal=delete");
  begin_and_write();
  is_in_doubt(commit_with(sqlite_fault::remove_before, SQLITE_IOERR_DELETE), SQLITE_IOERR_DELETE);
  BOOST_TEST(rows_after_a_crash() == 1);  // the journal is there: it was rolled back
}

BOOST_AUTO_TEST_CASE(an_error_while_writing_pages_is_in_doubt_for_us_and_rolled_back_in_truth) {
  open("?journal=delete");
  begin_and_write();
  is_in_doubt(commit_with(sqlite_fault::write, SQLITE_IOERR_WRITE), SQLITE_IOERR_WRITE);
  BOOST_TEST(rows_after_a_crash() == 1);
}

BOOST_AUTO_TEST_CASE(an_error_in_a_statement_that_ended_the_transaction_lets_nothing_more_in) {
  open("?journal=delete");
  BOOST_REQUIRE(s->begin({}));
  BOOST_TEST(raw(*s, "PRAGMA cache_size = 2") == SQLITE_OK);  // pages are spilled: writes happen
  sqlite_faults::arm(sqlite_fault::write, SQLITE_IOERR_WRITE);
  auto const e = run_error(*s,
                           "INSERT INTO t SELECT value, zeroblob(9000) FROM "
                           "(WITH RECURSIVE n(value) AS (SELECT 10 UNION ALL SELECT value + 1 "
                           "FROM n WHERE value < 60) SELECT value FROM n)");
  sqlite_faults::disarm();
  BOOST_TEST(e.native.code == SQLITE_IOERR_WRITE);
  BOOST_TEST(to_string(e.advice) == "new_connection");
  BOOST_TEST((s->status().value() == transaction_status::idle));
  BOOST_TEST(to_string(run_error(*s, "INSERT INTO t VALUES (5, NULL)").what) ==
             "transaction_replaced");
  BOOST_TEST(to_string(failed_commit().certainty) == "rolled_back");
  BOOST_TEST(rows_now() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
