// SPDX-License-Identifier: BSL-1.0
// What others do to a connection, and what is left on it.
#include <libpq-fe.h>

#include <array>
#include <thread>

#include "tests/support/postgresql_session.h"

namespace {

using idem::errc;
using idem::parameter;
using idem::transaction_status;
using idem_test::is_text;
using idem_test::must;
using fixture = idem_test::postgresql_session;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(connection, fixture)

BOOST_AUTO_TEST_CASE(statements_that_the_server_has_lost_are_prepared_anew) {
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
  must(try_query("DISCARD ALL"));
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
  must(s->begin({}));
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
  must(try_query("DEALLOCATE ALL"));
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
  must(s->rollback());
}

// Where it was not seen, the server tells. With the transaction that it begins a flush is sent
// again; inside one the whole of it has to be tried again.
BOOST_AUTO_TEST_CASE(statements_lost_unseen_are_prepared_anew) {
  constexpr auto unseen = "DO $$BEGIN EXECUTE 'DEALLOCATE ALL'; END$$";
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
  must(try_query(unseen));
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
  must(try_query(unseen));
  must(s->begin({}));
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
  must(try_query(unseen));
  auto const lost = try_query("SELECT 1");
  BOOST_REQUIRE(!lost);
  BOOST_TEST((lost.error().advice == idem::advice::new_transaction));
  must(s->rollback());
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
}

// BEGIN, COMMIT and ROLLBACK need no name.
BOOST_AUTO_TEST_CASE(a_transaction_begins_and_ends_without_names) {
  auto const insert = "INSERT INTO " + schema + ".effect (n) VALUES (1)";
  for (int i = 0; i < 2; ++i) {
    must(s->begin({}));
    must(try_query("DO $$BEGIN EXECUTE 'DEALLOCATE ALL'; END$$"));
    must(s->rollback());
    must(s->begin({}));
    PGconn* const conn = idem::postgresql::handle(*s);
    BOOST_TEST(PQtransactionStatus(conn) == PQTRANS_INTRANS);
    PQclear(PQexec(conn, insert.c_str()));
    must(s->rollback());
    BOOST_TEST((status() == transaction_status::idle));
  }
  BOOST_TEST(effects() == 0);
}

BOOST_AUTO_TEST_CASE(every_second_user_of_a_discarded_connection_is_served) {
  PGconn* const conn = PQconnectdb(url.c_str());
  {
    auto const adopted = idem::postgresql::adopt(conn);
    for (int i = 0; i < 6; ++i) {
      PQclear(PQexec(conn, "DISCARD ALL"));
      PQclear(PQexec(conn, "BEGIN"));
      BOOST_TEST(as_integer(query_on(*adopted, "SELECT 1")[0][0]) == 1);
      PQclear(PQexec(conn, "ROLLBACK"));
    }
  }
  PQfinish(conn);
}

BOOST_AUTO_TEST_CASE(two_sessions_on_one_connection_do_not_share_a_transaction) {
  PGconn* const conn = PQconnectdb(url.c_str());
  {
    auto const a = idem::postgresql::adopt(conn);
    auto const b = idem::postgresql::adopt(conn);
    must(a->begin({}));
    must(b->begin({}));
    query_on(*a, "SELECT 1");
    idem::statement const one{"SELECT 1", {}};
    auto const refused = b->execute(std::span(&one, 1), {});
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().what == errc::session_not_idle));
    must(a->rollback());
  }
  PQfinish(conn);
}

BOOST_AUTO_TEST_CASE(what_was_left_unread_does_not_keep_a_transaction_open) {
  PGconn* const conn = PQconnectdb(url.c_str());
  {
    auto const adopted = idem::postgresql::adopt(conn);
    must(adopted->begin({}));
    query_on(*adopted, "INSERT INTO " + schema + ".effect (n) VALUES (1)");
    BOOST_REQUIRE(PQsendQuery(conn, "SELECT generate_series(1, 1000)") == 1);
    must(adopted->rollback());
  }
  BOOST_TEST(PQtransactionStatus(conn) == PQTRANS_IDLE);
  BOOST_TEST(effects() == 0);
  PQfinish(conn);
}

BOOST_AUTO_TEST_CASE(an_answer_whose_columns_changed_is_prepared_anew) {
  auto const sql = "SELECT * FROM " + schema + ".effect";
  must(try_query(sql));
  query("ALTER TABLE " + schema + ".effect ADD COLUMN more integer");
  BOOST_TEST(must(try_query(sql)).empty());
}

BOOST_AUTO_TEST_CASE(a_session_that_died_idle_is_noticed) {
  std::array<parameter, 1> const process{as_integer(one("SELECT pg_backend_pid()"))};
  query_on(*observer, "SELECT pg_terminate_backend(?)", process);
  while (!query_on(*observer, "SELECT 1 FROM pg_stat_activity WHERE pid = ?", process).empty())
    std::this_thread::yield();
  BOOST_TEST((status() == transaction_status::unknown));
  BOOST_TEST(!s->reset());
}

BOOST_AUTO_TEST_CASE(a_reset_undoes_settings) {
  auto const pool = must(idem::postgresql::open_pool(url, 1));
  auto* first = must(pool->acquire({}));
  auto const process = query_on(*first, "SELECT pg_backend_pid()")[0][0];
  query_on(*first, "SET synchronous_commit = off");
  query_on(*first, "SELECT set_config('lock_timeout', '3s', false)");
  pool->release(first, true);
  auto* between = must(pool->acquire({}));
  query_on(*between, "CREATE TEMPORARY TABLE shadow (n integer)");
  query_on(*between, "SELECT pg_advisory_lock(77)");
  pool->release(between, true);
  auto* second = must(pool->acquire({}));
  BOOST_TEST((query_on(*second, "SELECT pg_backend_pid()")[0][0] == process));  // the same one
  BOOST_TEST(
      is_text(query_on(*second, "SELECT current_setting('synchronous_commit')")[0][0], "on"));
  BOOST_TEST(is_text(query_on(*second, "SELECT current_setting('lock_timeout')")[0][0], "0"));
  BOOST_TEST(query_on(*second, "SELECT 1 FROM pg_class WHERE relname = 'shadow'").empty());
  BOOST_TEST(
      query_on(*second,
               "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
          .empty());
  pool->release(second, true);
}

BOOST_AUTO_TEST_CASE(an_adopted_connection_is_left_as_it_was) {
  PGconn* const conn = PQconnectdb(url.c_str());
  BOOST_REQUIRE(PQstatus(conn) == CONNECTION_OK);
  {
    auto const adopted = idem::postgresql::adopt(conn);
    BOOST_TEST(as_integer(query_on(*adopted, "SELECT 1")[0][0]) == 1);
    BOOST_TEST(PQpipelineStatus(conn) == PQ_PIPELINE_OFF);
    BOOST_TEST(PQisnonblocking(conn) == 0);
    must(adopted->begin({}));
    query_on(*adopted, "INSERT INTO " + schema + ".effect (n) VALUES (1)");
  }
  BOOST_TEST(PQtransactionStatus(conn) == PQTRANS_IDLE);
  BOOST_TEST(effects() == 0);
  // Unread results, a pipeline, a transaction: not for us.
  auto const adopted = idem::postgresql::adopt(conn);
  BOOST_REQUIRE(PQsendQuery(conn, "SELECT 1") == 1);
  BOOST_TEST((must(adopted->status()) == transaction_status::busy));
  while (PGresult* const r = PQgetResult(conn)) PQclear(r);
  BOOST_REQUIRE(PQenterPipelineMode(conn) == 1);
  BOOST_TEST((must(adopted->status()) == transaction_status::busy));
  BOOST_REQUIRE(PQexitPipelineMode(conn) == 1);
  PQclear(PQexec(conn, "BEGIN"));
  BOOST_TEST(!adopted->begin({}));
  PQclear(PQexec(conn, "ROLLBACK"));
  PQfinish(conn);
}

BOOST_AUTO_TEST_SUITE_END()
