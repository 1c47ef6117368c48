// SPDX-License-Identifier: BSL-1.0
// What an effect leaves running on its handle, and a file that is taken from under a session.
#include <idem/schema.h>
#include <idem/store.h>
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)
using std::chrono::milliseconds;

struct on_file {
  temporary_folder folder;
  std::string path = folder / "a.db";
  std::string url = "sqlite:" + path + "?journal=delete";
  std::unique_ptr<session> other = open_sqlite(url);
  request asked = request::from_bytes({"s", "o", "k"}, "content").value();

  on_file() {
    schema::install(*other, {}).value();
    run(*other, "CREATE TABLE t (x INTEGER)");
    run(*other, "INSERT INTO t VALUES (1), (2)");
  }
  static sqlite3_stmt* start(session& s, char const* sql) {
    sqlite3_stmt* left = nullptr;
    BOOST_REQUIRE(sqlite3_prepare_v2(sqlite::handle(s), sql, -1, &left, nullptr) == SQLITE_OK);
    BOOST_REQUIRE(sqlite3_step(left) == SQLITE_ROW);
    return left;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_leftovers, on_file)

BOOST_AUTO_TEST_CASE(a_statement_left_running_locks_nothing_once_its_session_is_discarded) {
  auto pool = sqlite::open_pool(url, 1).value();
  auto const store = idem::store::open(*pool).value();
  sqlite3_stmt* left = nullptr;
  auto const effect = [&](transaction& tx) -> result<answer> {
    left = start(tx.session(), "SELECT x FROM t");
    return answer(response{200, {}, "r"});
  };
  BOOST_REQUIRE(store.run(*pool, asked, effect));
  BOOST_REQUIRE(other->begin(begin_waiting(milliseconds(0))));
  run(*other, "INSERT INTO t VALUES (3)");
  BOOST_TEST(other->commit({}, wait_at_most(milliseconds(0))).has_value());
  BOOST_TEST(sqlite3_finalize(left) == SQLITE_OK);
}

BOOST_AUTO_TEST_CASE(a_writer_left_running_is_no_lock_of_another) {
  auto pool = sqlite::open_pool(url, 1).value();
  auto const store = idem::store::open(*pool).value();
  sqlite3_stmt* left = nullptr;
  int calls = 0;
  auto const effect = [&](transaction& tx) -> result<answer> {
    if (++calls == 1) left = start(tx.session(), "INSERT INTO t VALUES (3), (4) RETURNING x");
    return answer(response{200, {}, "r"});
  };
  auto const called = store.run(*pool, asked, effect);
  BOOST_REQUIRE(!called);
  BOOST_TEST(to_string(called.error().what) == "session_not_idle");
  BOOST_TEST(to_string(called.error().certainty) == "rolled_back");
  BOOST_TEST(to_string(called.error().advice) == "never");
  BOOST_TEST(calls == 1);
  sqlite3_finalize(left);
  BOOST_TEST(number(*other, "SELECT count(*) FROM t") == 2);
}

BOOST_AUTO_TEST_CASE(a_file_that_was_moved_is_not_written_to_any_more) {
  for (auto const* journal : {"wal", "delete"}) {
    auto const file = folder / (std::string(journal) + ".db");
    auto const file_url = "sqlite:" + file + "?journal=" + journal;
    auto pool = sqlite::open_pool(file_url).value();
    auto session = session_lease::acquire(*pool, {}).value();
    schema::install(*session, {}).value();
    auto const store = idem::store::open(*session).value();
    lone_session source(*session);
    BOOST_TEST((session->status().value() == transaction_status::idle));
    std::filesystem::rename(file, file + ".old");
    BOOST_TEST((session->status().value() == transaction_status::unknown), journal);
    auto const called =
        store.run(source, asked, [](transaction&) { return response{200, {}, ""}; });
    BOOST_REQUIRE(!called);
    BOOST_TEST(to_string(called.error().what) == "connection_lost");
    BOOST_TEST(to_string(called.error().certainty) == "not_executed");
    BOOST_TEST(number(*session, "SELECT count(*) FROM idem_record") == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
