// SPDX-License-Identifier: BSL-1.0
// The port on a real server: values, transactions, limits, and what others do to a connection.
#include <libpq-fe.h>

#include <array>
#include <cmath>
#include <thread>

#include "tests/support/postgresql_session.h"

namespace {

using namespace std::chrono_literals;
using idem::blob;
using idem::blob_view;
using idem::certainty;
using idem::errc;
using idem::parameter;
using idem::transaction_status;
using idem_test::is_text;
using idem_test::must;
using fixture = idem_test::postgresql_session;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(session, fixture)

// Twice: the second time a prepared statement answers in the binary format where it can.
BOOST_AUTO_TEST_CASE(values_come_back_as_they_are) {
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(as_integer(one("SELECT 32767::smallint")) == 32767);
    BOOST_TEST(as_integer(one("SELECT (-2147483648)::integer")) == -2147483648LL);
    BOOST_TEST(as_integer(one("SELECT (-9223372036854775808)::bigint")) == INT64_MIN);
    BOOST_TEST(as_integer(one("SELECT true")) == 1);
    BOOST_TEST(as_integer(one("SELECT false")) == 0);
    BOOST_TEST(std::get<double>(one("SELECT 0.1::float8")) == 0.1);
    BOOST_TEST(std::get<double>(one("SELECT 0.5::float4")) == 0.5);
    BOOST_TEST(std::isnan(std::get<double>(one("SELECT 'NaN'::float8"))));
    BOOST_TEST(std::get<double>(one("SELECT '-Infinity'::float8")) == -HUGE_VAL);
    BOOST_TEST(is_text(one("SELECT 'gr\u00fc\u00df'::text"), "gr\u00fc\u00df"));
    BOOST_TEST(is_text(one("SELECT 1.50::numeric(5,2)"), "1.50"));
    BOOST_TEST(is_text(one("SELECT 'epoch'::timestamp"), "1970-01-01 00:00:00"));
    BOOST_TEST(idem::is_null(one("SELECT NULL::bytea")));
    BOOST_TEST((one("SELECT '\\x00ff'::bytea") == idem::value(blob{std::string("\0\xff", 2)})));
    BOOST_TEST((one("SELECT ''::bytea") == idem::value(blob{})));
  }
}

BOOST_AUTO_TEST_CASE(parameters_arrive_as_they_are) {
  std::string every;
  for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
  for (auto const& bytes : {std::string(), every}) {
    std::array<parameter, 1> const p{blob_view{bytes}};
    for (int i = 0; i < 2; ++i) BOOST_TEST((one("SELECT ?", p) == idem::value(blob{bytes})));
  }
  std::array<parameter, 4> const mixed{INT64_MIN, 0.1, "caf\u00e9 ?", nullptr};
  auto const row = must(try_query("SELECT ?::bigint, ?::float8, ?::text, ?::integer", mixed));
  BOOST_TEST(as_integer(row[0][0]) == INT64_MIN);
  BOOST_TEST(std::get<double>(row[0][1]) == 0.1);
  BOOST_TEST(is_text(row[0][2], "caf\u00e9 ?"));
  BOOST_TEST(idem::is_null(row[0][3]));
  // As a literal would be: the server infers a smaller type, or text, from the place.
  std::array<parameter, 2> const inferred{2, 3};
  BOOST_TEST(is_text(one("SELECT substr('abcdef', ?, ?)", inferred), "bcd"));
}

BOOST_AUTO_TEST_CASE(an_escaped_bytea_is_read_too) {
  must(try_query("SET bytea_output = escape"));
  BOOST_TEST((one("SELECT '\\x005c41'::bytea") == idem::value(blob{std::string("\0\\A", 3)})));
}

BOOST_AUTO_TEST_CASE(bad_parameters_are_refused_before_anything_is_sent) {
  std::array<parameter, 1> const nul{std::string_view("a\0b", 3)};
  auto const refused = try_query("SELECT ?::text", nul);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().what == errc::invalid_argument));
  std::array<parameter, 1> const few{1};
  auto const missing = try_query("SELECT ? + ?", few);
  BOOST_REQUIRE(!missing);
  BOOST_TEST((missing.error().what == errc::invalid_argument));
  BOOST_TEST(missing.error().message.contains("2 placeholders and 1 parameters"));
  BOOST_TEST((status() == transaction_status::idle));
  BOOST_TEST(as_integer(one("SELECT 1")) == 1);
}

BOOST_AUTO_TEST_CASE(an_error_stops_the_rest_of_the_flush) {
  auto const insert = "INSERT INTO " + schema + ".effect (n) VALUES (1)";
  std::array<idem::statement, 3> const all{idem::statement{insert, {}},
                                           idem::statement{"SELECT 1 / 0", {}},
                                           idem::statement{insert, {}}};
  auto const answered = s->execute(all, {});
  BOOST_REQUIRE(!answered);
  BOOST_TEST(answered.error().native.sqlstate == "22012");
  BOOST_TEST(effects() == 0);
  BOOST_TEST((status() == transaction_status::idle));
}

BOOST_AUTO_TEST_CASE(the_state_is_the_servers) {
  BOOST_TEST((status() == transaction_status::idle));
  must(s->begin({}));
  BOOST_TEST((status() == transaction_status::open));
  must(try_query("SELECT 1"));
  BOOST_TEST((status() == transaction_status::open));
  BOOST_TEST(!try_query("SELECT 1 / 0"));
  BOOST_TEST((status() == transaction_status::failed));
  auto const aborted = try_query("SELECT 1");
  BOOST_REQUIRE(!aborted);
  BOOST_TEST((aborted.error().what == errc::transaction_aborted));
  must(s->rollback());
  BOOST_TEST((status() == transaction_status::idle));
  must(s->rollback());
}

BOOST_AUTO_TEST_CASE(the_handle_finds_the_transaction_open) {
  must(s->begin({}));
  BOOST_TEST(PQtransactionStatus(idem::postgresql::handle(*s)) == PQTRANS_INTRANS);
  PQclear(PQexec(idem::postgresql::handle(*s),
                 ("INSERT INTO " + schema + ".effect (n) VALUES (1)").c_str()));
  must(s->rollback());
  BOOST_TEST(effects() == 0);
}

BOOST_AUTO_TEST_CASE(every_level_is_the_one_asked_for) {
  using idem::isolation;
  std::pair<isolation, char const*> const levels[] = {
      {isolation::read_uncommitted, "read uncommitted"},
      {isolation::read_committed, "read committed"},
      {isolation::repeatable_read, "repeatable read"},
      {isolation::snapshot, "repeatable read"},
      {isolation::serializable, "serializable"},
      {isolation::engine_default, "read committed"},
  };
  for (auto const& [level, name] : levels)
    for (bool const reading : {false, true}) {
      must(s->begin({.isolation = level, .read_only = reading}));
      BOOST_TEST(is_text(one("SELECT current_setting('transaction_isolation')"), name));
      BOOST_TEST(
          is_text(one("SELECT current_setting('transaction_read_only')"), reading ? "on" : "off"));
      must(s->rollback());
    }
}

BOOST_AUTO_TEST_CASE(commit_of_a_failed_transaction_is_no_commit) {
  must(s->begin({}));
  must(try_query("INSERT INTO " + schema + ".effect (n) VALUES (1)"));
  BOOST_TEST(!try_query("SELECT 1 / 0"));
  auto const committed = s->commit({}, {});
  BOOST_REQUIRE(!committed);
  BOOST_TEST((committed.error().what == errc::transaction_aborted));
  BOOST_TEST((committed.error().certainty == certainty::rolled_back));
  BOOST_TEST(effects() == 0);
}

BOOST_AUTO_TEST_CASE(a_statement_that_ends_the_transaction_is_told) {
  must(s->begin({}));
  must(try_query("SELECT 1"));
  auto const ended = try_query("COMMIT");
  BOOST_REQUIRE(!ended);
  BOOST_TEST((ended.error().what == errc::transaction_replaced));
  // What comes after it would commit by itself: it is not sent.
  auto const after = try_query("INSERT INTO " + schema + ".effect (n) VALUES (1)");
  BOOST_REQUIRE(!after);
  BOOST_TEST((after.error().what == errc::transaction_replaced));
  BOOST_TEST(effects() == 0);
}

BOOST_AUTO_TEST_CASE(the_wait_limit_is_for_its_statements_alone) {
  must(try_query("SET lock_timeout = '7s'"));
  must(s->begin({}));
  must(try_query("SELECT 1", {}, {.wait_limit = 40ms}));
  BOOST_TEST(is_text(one("SELECT current_setting('lock_timeout')"), "7s"));
  must(s->rollback());
  must(try_query("SELECT 1", {}, {.wait_limit = 40ms}));
  BOOST_TEST(is_text(one("SELECT current_setting('lock_timeout')"), "7s"));
}

BOOST_AUTO_TEST_CASE(no_wait_is_no_wait) {
  query("CREATE TABLE " + schema + ".held (n integer PRIMARY KEY)");
  auto const holder = connect(url);
  must(holder->begin({}));
  query_on(*holder, "LOCK TABLE " + schema + ".held");
  for (auto const wait : {0ms, 30ms}) {
    auto const waited = try_query("SELECT * FROM " + schema + ".held", {}, {.wait_limit = wait});
    BOOST_REQUIRE(!waited);
    BOOST_TEST((waited.error().what == errc::lock_timeout));
  }
}

BOOST_AUTO_TEST_CASE(a_deadline_cancels_the_statement) {
  auto const slept =
      try_query("SELECT pg_sleep(60)", {}, {.deadline = std::chrono::steady_clock::now() + 100ms});
  BOOST_REQUIRE(!slept);
  BOOST_TEST((slept.error().what == errc::deadline_exceeded));
  auto const before = try_query("SELECT 1", {}, {.deadline = std::chrono::steady_clock::now()});
  BOOST_REQUIRE(!before);
  BOOST_TEST((before.error().what == errc::deadline_exceeded));
  BOOST_TEST(!s->reset());  // the cancel could still hit what comes next
}

BOOST_AUTO_TEST_CASE(a_stop_cancels_the_statement) {
  std::stop_source source;
  auto const process = as_integer(one("SELECT pg_backend_pid()"));
  std::jthread const stopper([&] {
    std::array<parameter, 1> const p{process};
    auto const watcher = connect(url);
    while (query_on(*watcher,
                    "SELECT 1 FROM pg_stat_activity WHERE pid = ? AND wait_event = 'PgSleep'", p)
               .empty())
      std::this_thread::yield();
    source.request_stop();
  });
  auto const slept = try_query("SELECT pg_sleep(60)", {}, {.stop = source.get_token()});
  BOOST_REQUIRE(!slept);
  BOOST_TEST((slept.error().what == errc::cancelled));
}

// A COMMIT is not given up for a stop, but neither is it waited for without end.
BOOST_AUTO_TEST_CASE(a_stop_ends_the_wait_for_a_commit) {
  query(
      "CREATE FUNCTION " + schema +
      ".slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'");
  query("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON " + schema +
        ".effect DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + schema +
        ".slow()");
  auto const process = as_integer(one("SELECT pg_backend_pid()"));
  must(s->begin({}));
  must(try_query("INSERT INTO " + schema + ".effect (n) VALUES (1)"));
  std::stop_source later;
  std::jthread const stopper([&] {
    std::array<parameter, 1> const p{process};
    auto const watcher = connect(url);
    while (query_on(*watcher,
                    "SELECT 1 FROM pg_stat_activity WHERE pid = ? AND wait_event = 'PgSleep'", p)
               .empty())
      std::this_thread::yield();
    later.request_stop();
  });
  auto const committed = s->commit({}, {.stop = later.get_token()});
  BOOST_REQUIRE(!committed);
  BOOST_TEST((committed.error().certainty == certainty::in_doubt));
  std::array<parameter, 1> const p{process};
  query_on(*observer, "SELECT pg_terminate_backend(?)", p);
}

BOOST_AUTO_TEST_CASE(copy_is_refused) {
  auto const refused = try_query("COPY " + schema + ".effect FROM STDIN");
  BOOST_REQUIRE(!refused);
  BOOST_TEST((status() == transaction_status::unknown));  // given up
}

BOOST_AUTO_TEST_CASE(large_values_pass_both_ways_at_once) {
  std::string const large(std::size_t{8} << 20, 'x');
  std::array<parameter, 1> const p{blob_view{large}};
  std::array<idem::statement, 3> const all{idem::statement{"SELECT ?", p},
                                           idem::statement{"SELECT ?", p},
                                           idem::statement{"SELECT ?", p}};
  auto const answered = must(s->execute(all, {}));
  for (auto const& r : answered) BOOST_TEST((r[0][0] == idem::value(blob{large})));
}

BOOST_AUTO_TEST_SUITE_END()
