// SPDX-License-Identifier: BSL-1.0
// As effect_ends_transaction_test.cpp, where SQLite's own means are what commits.
#include <idem/schema.h>
#include <idem/store.h>
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)

request the_request() { return request::from_bytes({"s", "o", "k"}, "content").value(); }

void is_in_doubt(error const& e) {
  BOOST_TEST(to_string(e.certainty) == "in_doubt");
  BOOST_TEST(to_string(e.advice) == "resolve_first");
  BOOST_TEST(e.attempts.size() == 1U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sqlite_effect_commits)

BOOST_AUTO_TEST_CASE(a_statement_that_committed_did_not_fail) {
  temporary_folder const folder;
  sqlite3* db = nullptr;
  BOOST_REQUIRE(sqlite3_open((folder / "a.db").c_str(), &db) == SQLITE_OK);
  {
    auto const s = sqlite::adopt(db);
    schema::install(*s, {}).value();
    run(*s, "CREATE TABLE t (x INTEGER)");
    auto const store = idem::store::open(*s).value();
    lone_session source(*s);
    auto const effect = [](transaction& tx) -> result<answer> {
      BOOST_REQUIRE(tx.execute("INSERT INTO t VALUES (1)"));
      BOOST_TEST(!tx.execute("COMMIT"));
      return std::unexpected(error{});
    };
    auto const called = store.run(source, the_request(), effect);
    BOOST_REQUIRE(!called);
    is_in_doubt(called.error());
    BOOST_TEST(number(*s, "SELECT count(*) FROM t") == 1);
  }
  BOOST_TEST(sqlite3_close(db) == SQLITE_OK);
}

BOOST_AUTO_TEST_CASE(a_hook_that_let_the_commit_through_is_noticed_before_the_answer) {
  auto const s = open_sqlite("sqlite::memory:");
  schema::install(*s, {}).value();
  run(*s, "CREATE TABLE t (x INTEGER)");
  auto const store = idem::store::open(*s).value();
  lone_session source(*s);
  auto const effect = [](transaction& tx) -> result<answer> {
    BOOST_REQUIRE(tx.execute("INSERT INTO t VALUES (1)"));
    sqlite3_commit_hook(sqlite::handle(tx), nullptr, nullptr);
    BOOST_TEST(raw(tx.session(), "COMMIT") == SQLITE_OK);
    return std::unexpected(error{});
  };
  auto const called = store.run(source, the_request(), effect);
  BOOST_REQUIRE(!called);
  is_in_doubt(called.error());
  BOOST_TEST(number(*s, "SELECT count(*) FROM t") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
