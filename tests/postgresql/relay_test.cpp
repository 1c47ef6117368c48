// SPDX-License-Identifier: BSL-1.0
// The relay between libpq and a real server; an observer's own connection tells what is true.
#include "conformance/proxy/relay.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

using namespace idem::conformance;
using namespace std::chrono_literals;

constexpr auto up = direction::to_server;
constexpr auto down = direction::to_client;

struct closes {
  void operator()(PGconn* c) const { PQfinish(c); }
  void operator()(PGresult* r) const { PQclear(r); }
};
using connection = std::unique_ptr<PGconn, closes>;
using answer = std::unique_ptr<PGresult, closes>;

std::string url() {
  char const* const given = std::getenv("IDEM_TEST_POSTGRESQL_15");
  BOOST_REQUIRE_MESSAGE(given != nullptr,
                        "set IDEM_TEST_POSTGRESQL_15 to the URL of a PostgreSQL for tests");
  return given;
}

bool ok(answer const& a) {
  auto const status = PQresultStatus(a.get());
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

answer run(connection const& c, std::string const& statement) {
  return answer(PQexec(c.get(), statement.c_str()));
}

/// With the extended protocol: Parse, Bind, Describe, Execute, Sync.
answer run_extended(connection const& c, std::string const& statement) {
  return answer(PQexecParams(c.get(), statement.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0));
}

/// A server, an observer beside the relay, and a table of this process.
struct world {
  world() : observer(PQconnectdb(url().c_str())), between(started()) {
    must("create table " + table + " (n int)");
  }
  ~world() { run(observer, "drop table " + table); }

  relay started() {
    BOOST_REQUIRE_MESSAGE(PQstatus(observer.get()) == CONNECTION_OK, "the server is not there");
    auto const port = static_cast<std::uint16_t>(std::stoi(PQport(observer.get())));
    auto made = relay::start({.host = PQhost(observer.get()), .port = port});
    BOOST_REQUIRE(made);
    return std::move(*made);
  }

  std::string must(std::string const& statement) {
    auto const a = run(observer, statement);
    BOOST_REQUIRE_MESSAGE(ok(a), PQresultErrorMessage(a.get()));
    return PQntuples(a.get()) > 0 ? PQgetvalue(a.get(), 0, 0) : "";
  }

  connection connect() {
    auto const target = url();
    auto const port = std::to_string(between.port());
    char const* const keys[] = {"dbname", "host", "port", nullptr};
    char const* const values[] = {target.c_str(), "127.0.0.1", port.c_str(), nullptr};
    return connection(PQconnectdbParams(keys, values, 1));
  }
  connection connected() {
    auto made = connect();
    BOOST_REQUIRE_MESSAGE(PQstatus(made.get()) == CONNECTION_OK, PQerrorMessage(made.get()));
    return made;
  }

  std::string const lock = std::to_string(::getpid());
  /// Whether each step up to the insert was answered. The session's lock is held from here to
  /// the session's end.
  bool insert(connection const& c) {
    return ok(run(c, "select pg_advisory_lock(" + lock + ")")) && ok(run(c, "begin")) &&
           ok(run(c, "insert into " + table + " values (1)"));
  }
  /// The rows when the session that inserted has ended on the server, and none afterwards.
  std::string rows_at_the_end() {
    must("select pg_advisory_lock(" + lock + ")");
    auto const rows = rows_now();
    must("truncate " + table);
    must("select pg_advisory_unlock(" + lock + ")");
    return rows;
  }
  std::string rows_now() { return must("select count(*) from " + table); }

  std::string const table = "idem_relay_test_" + lock;
  connection observer;
  relay between;
};

fault_plan at_commit(direction way, fault_action action, moment when) {
  return {.way = way, .action = action, .when = when, .matches = is_commit};
}

void send_pipeline(connection const& c, int statements) {
  BOOST_REQUIRE(PQenterPipelineMode(c.get()) == 1);
  for (int i = 0; i < statements; ++i)
    BOOST_REQUIRE(
        PQsendQueryParams(c.get(), "select 1", 0, nullptr, nullptr, nullptr, nullptr, 0) == 1);
  BOOST_REQUIRE(PQpipelineSync(c.get()) == 1);
}

/// The statements that were answered up to the Sync.
int read_pipeline(connection const& c) {
  for (int answered = 0;;) {
    answer const a(PQgetResult(c.get()));
    auto const status = PQresultStatus(a.get());
    if (status == PGRES_PIPELINE_SYNC) return answered;
    if (status == PGRES_TUPLES_OK) ++answered;
    if (PQstatus(c.get()) != CONNECTION_OK) return -1;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(relay)

BOOST_AUTO_TEST_CASE(connecting_is_no_round_trip_and_each_simple_query_is_one) {
  world w;
  auto const c = w.connected();
  BOOST_TEST(w.between.counts().round_trips == 0U);
  for (unsigned i = 1; i <= 5; ++i) {
    BOOST_TEST(ok(i % 2 == 0 ? run(c, "select 1") : run_extended(c, "select 1")));
    BOOST_TEST(w.between.counts().round_trips == i);
  }
}

BOOST_AUTO_TEST_CASE(a_pipeline_is_one_round_trip) {
  world w;
  auto const c = w.connected();
  for (int const statements : {1, 3, 50}) {
    w.between.reset_counts();
    send_pipeline(c, statements);
    BOOST_TEST(read_pipeline(c) == statements);
    auto const counts = w.between.counts();
    BOOST_TEST(counts.round_trips == 1U);
    BOOST_TEST(counts.to_server.messages.at('E') == static_cast<std::size_t>(statements));
    BOOST_TEST(counts.to_server.messages.at('S') == 1U);
    BOOST_TEST(counts.to_client.messages.at('Z') == 1U);
    BOOST_REQUIRE(PQexitPipelineMode(c.get()) == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_flush_request_is_waited_for) {
  world w;
  auto const c = w.connected();
  BOOST_REQUIRE(PQenterPipelineMode(c.get()) == 1);
  PQsendQueryParams(c.get(), "select 1", 0, nullptr, nullptr, nullptr, nullptr, 0);
  BOOST_REQUIRE(PQsendFlushRequest(c.get()) == 1);
  BOOST_REQUIRE(PQflush(c.get()) == 0);
  BOOST_TEST(ok(answer(PQgetResult(c.get()))));
  BOOST_TEST(w.between.counts().round_trips == 1U);
  BOOST_REQUIRE(PQpipelineSync(c.get()) == 1);
  BOOST_TEST(read_pipeline(c) == 0);
  BOOST_TEST(w.between.counts().round_trips == 2U);
}

BOOST_AUTO_TEST_CASE(a_commit_cut_off_before_and_after) {
  world w;
  for (auto const action : {fault_action::cut_rst, fault_action::cut_fin})
    for (bool const extended : {false, true})
      for (auto const when : {moment::before, moment::after}) {
        auto const c = w.connected();
        w.between.arm(at_commit(up, action, when));
        BOOST_REQUIRE(w.insert(c));
        BOOST_TEST(!ok(extended ? run_extended(c, "commit") : run(c, "commit")));
        BOOST_TEST(PQstatus(c.get()) == CONNECTION_BAD);
        BOOST_TEST(w.between.fired());
        BOOST_TEST(w.rows_at_the_end() == (when == moment::after ? "1" : "0"));
      }
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_commit_is_lost) {
  world w;
  auto const c = w.connected();
  w.between.arm(at_commit(down, fault_action::cut_rst, moment::before));
  BOOST_REQUIRE(w.insert(c));
  BOOST_TEST(!ok(run(c, "commit")));
  BOOST_TEST(w.between.fired());
  BOOST_TEST(w.rows_at_the_end() == "1");
}

BOOST_AUTO_TEST_CASE(a_held_commit_comes_after_its_client_is_gone) {
  world w;
  auto c = w.connected();
  w.between.arm(at_commit(up, fault_action::hold, moment::before));
  BOOST_REQUIRE(w.insert(c));
  BOOST_REQUIRE(PQsendQuery(c.get(), "commit") == 1);
  BOOST_REQUIRE(w.between.await_fired(10s));
  c.reset();
  BOOST_TEST(w.rows_now() == "0");
  w.between.release();
  BOOST_TEST(w.rows_at_the_end() == "1");
}

BOOST_AUTO_TEST_CASE(a_swallowed_commit_never_comes) {
  world w;
  auto c = w.connected();
  w.between.arm(at_commit(up, fault_action::swallow, moment::before));
  BOOST_REQUIRE(w.insert(c));
  BOOST_REQUIRE(PQsendQuery(c.get(), "commit") == 1);
  BOOST_REQUIRE(w.between.await_fired(10s));
  c.reset();
  w.between.release();
  BOOST_TEST(w.rows_at_the_end() == "0");
}

BOOST_AUTO_TEST_CASE(a_cut_at_every_event) {
  world w;
  std::size_t doubtful_committed = 0;
  std::size_t doubtful_not = 0;
  for (auto const way : {up, down})
    for (std::size_t i = 0;; ++i) {
      BOOST_REQUIRE(i < 200U);
      w.between.arm({.way = way, .index = i, .connection = w.between.accepted()});
      bool asked = false;
      bool committed = false;
      {
        auto const c = w.connect();
        asked = PQstatus(c.get()) == CONNECTION_OK && w.insert(c);
        committed = asked && ok(run(c, "commit"));
      }
      auto const rows = w.rows_at_the_end();
      if (committed) BOOST_TEST(rows == "1");
      if (!asked) BOOST_TEST(rows == "0");
      if (asked && !committed) ++(rows == "1" ? doubtful_committed : doubtful_not);
      if (!w.between.fired()) {
        BOOST_TEST(committed);
        BOOST_TEST(w.between.matched() == i);
        BOOST_TEST_MESSAGE(to_string(way) << ": " << i << " events");
        break;
      }
    }
  BOOST_TEST(doubtful_committed >= 1U);
  BOOST_TEST(doubtful_not >= 1U);
}

BOOST_AUTO_TEST_SUITE_END()
