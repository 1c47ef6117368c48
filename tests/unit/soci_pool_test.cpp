// SPDX-License-Identifier: BSL-1.0
// A pool of SOCI's, on SQLite, and errors that pass.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/support/soci_bench.h"
#include "tests/support/sqlite_database.h"

namespace {

using namespace idem_test;  // NOLINT(google-build-using-namespace)
using idem::errc;
using std::chrono::milliseconds;

struct bench {
  temporary_folder folder;
  std::string path = folder / "a.db";
  soci_bench db{::soci::sqlite3, "dbname=" + path, "soci_pool"};
  int calls = 0;

  static idem::run_options until(milliseconds from_now) {
    idem::run_options options;
    options.deadline = std::chrono::steady_clock::now() + from_now;
    return options;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(soci_pool, bench)

BOOST_AUTO_TEST_CASE(rolls_back_what_was_left_open_in_the_pool) {
  auto const connections = db.pool(1);
  {
    ::soci::session careless(*connections);
    careless.begin();
    db.write(careless, "left open");
  }
  idem::soci::pool_source source(*connections);
  auto const r = db.store().run(source, request_named("a"), db.effect(calls));
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(db.rows() == 1);
}

BOOST_AUTO_TEST_CASE(gives_back_no_open_transaction) {
  auto const connections = db.pool(1);
  idem::soci::pool_source source(*connections);
  auto* const lent = source.acquire({}).value();
  *idem::soci::find_session(*lent) << "BEGIN";
  db.write(*idem::soci::find_session(*lent), "left open");
  source.release(lent, true);
  ::soci::session next(*connections);
  next.begin();  // fails inside a transaction
  next.commit();
  BOOST_TEST(db.rows() == 0);
}

BOOST_AUTO_TEST_CASE(connects_a_closed_session_anew) {
  auto const connections = db.pool(1);
  connections->at(0).close();
  idem::soci::pool_source source(*connections);
  auto const r = db.store().run(source, request_named("a"), db.effect(calls));
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(connections->at(0).is_connected());
}

BOOST_AUTO_TEST_CASE(says_that_a_session_was_never_opened) {
  ::soci::connection_pool never(1);
  idem::soci::pool_source source(never);
  idem::run_options once;
  once.retry.max_attempts = 1;
  auto const r = db.store().run(source, request_named("a"), db.effect(calls), once);
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::connection_failed), told(r));
  std::size_t position = 0;
  BOOST_TEST(never.try_lease(position, 0), "its place was not given back");
}

BOOST_AUTO_TEST_CASE(waits_for_a_free_session_until_the_deadline_or_a_stop) {
  auto const connections = db.pool(1);
  idem::soci::pool_source source(*connections);
  ::soci::session taken(*connections);
  auto const late =
      db.store().run(source, request_named("a"), db.effect(calls), until(milliseconds(30)));
  BOOST_REQUIRE(!late);
  BOOST_TEST((late.error().what == errc::resource_exhausted), told(late));
  std::stop_source stop;
  idem::run_options options;
  options.stop = stop.get_token();
  std::jthread const stops([&] { stop.request_stop(); });
  auto const stopped = db.store().run(source, request_named("a"), db.effect(calls), options);
  BOOST_REQUIRE(!stopped);
  BOOST_TEST((stopped.error().what == errc::cancelled), told(stopped));
  BOOST_TEST(calls == 0);
}

BOOST_AUTO_TEST_CASE(a_pool_of_one_serves_no_second_operation_inside_the_first) {
  auto const connections = db.pool(1);
  idem::soci::pool_source source(*connections);
  auto const outer = db.effect(calls, [&](::soci::session&) {
    int inner_calls = 0;
    auto const inner = db.store().run(source, request_named("inner"), db.effect(inner_calls),
                                      until(milliseconds(30)));
    BOOST_REQUIRE(!inner);
    BOOST_TEST((inner.error().what == errc::resource_exhausted), told(inner));
  });
  auto const r = db.store().run(source, request_named("outer"), outer);
  BOOST_TEST(is<idem::executed>(r), told(r));
}

BOOST_AUTO_TEST_CASE(serves_threads) {
  auto const connections = db.pool(2);
  for (std::size_t i = 0; i < 2; ++i) connections->at(i) << "PRAGMA busy_timeout = 20000";
  idem::soci::pool_source source(*connections);
  std::atomic<int> executed = 0;
  std::atomic<int> replayed = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 10; ++i) {
          int mine = 0;
          idem::run_options patient;
          patient.wait_limit = std::chrono::seconds(60);
          auto const key = std::to_string((thread % 2) * 100 + i);
          auto const r = db.store().run(source, request_named(key), db.effect(mine), patient);
          if (is<idem::executed>(r)) ++executed;
          if (is<idem::replayed>(r)) ++replayed;
        }
      });
  }
  BOOST_TEST(executed == 20);
  BOOST_TEST(replayed == 20);
  BOOST_TEST(db.rows() == 20);
}

// The only lock that an effect can wait for on SQLite is another file's.
BOOST_AUTO_TEST_CASE(starts_again_when_the_effect_throws_an_error_that_passes) {
  std::string const second = folder / "second.db";
  ::soci::session holder(::soci::sqlite3, "dbname=" + second);
  holder << "CREATE TABLE t (x INTEGER)";
  holder << "BEGIN IMMEDIATE";
  auto const sql = db.open();
  idem::soci::lone_source source(*sql);
  idem::run_options patient;  // BEGIN IMMEDIATE of the second attempt wants the attached file too
  patient.wait_limit = std::chrono::seconds(20);
  auto const with_release = idem::soci::effect([&](::soci::session& s) {
    ++calls;
    db.write(s, "effect");
    if (calls == 1) {
      s << "ATTACH DATABASE '" << second << "' AS second";
      try {
        s << "INSERT INTO second.t VALUES (1)";
      } catch (...) {
        holder << "ROLLBACK";
        throw;
      }
    }
    return idem::response{201, {}, "done"};
  });
  auto const r = db.store().run(source, request_named("a"), with_release, patient);
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(calls == 2);
  BOOST_TEST(db.rows() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
