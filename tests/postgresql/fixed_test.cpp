// SPDX-License-Identifier: BSL-1.0
// What of a fixed effect only PostgreSQL can show: what is refused, what a prepared statement or a
// notice can do in the one flush, and how long it waits.
#include <libpq-fe.h>

#include <vector>

#include "tests/support/postgresql_session.h"

namespace {

using namespace std::chrono_literals;
using idem::errc;
using idem::outcome;
using idem_test::must;

struct fixture : idem_test::postgresql_session {
  fixture() : store(open(*s)) {}

  // The insert of one row, and then `last`.
  idem::result<outcome> run(idem::session& on, std::string_view key, std::string_view last = "",
                            idem::run_options const& options = {}) const {
    std::array<idem::parameter, 1> const one{1};
    std::vector<idem::statement> all{{insert, one}};
    if (!last.empty()) all.push_back({last, {}});
    idem::lone_session source(on);
    return store.run_fixed(source, request(key), {all, {.status = 201, .body = "done"}}, options);
  }
  idem::result<outcome> run(std::string_view key, std::string_view last = "",
                            idem::run_options const& options = {}) const {
    return run(*s, key, last, options);
  }
  void check_nothing_stays() const {
    BOOST_TEST(effects() == 0);
    BOOST_TEST(records() == 0);
    BOOST_TEST((status() == idem::transaction_status::idle));
  }

  std::string const insert = "INSERT INTO " + schema + ".effect (n) VALUES (?)";
  idem::store store;
};

template <class O>
bool is(idem::result<outcome> const& answered) {
  if (!answered) BOOST_TEST_MESSAGE(describe(answered.error()));
  return answered && std::holds_alternative<O>(*answered);
}

bool failed(idem::result<outcome> const& answered, errc what, idem::certainty known) {
  if (!answered) BOOST_TEST_MESSAGE(describe(answered.error()));
  return !answered && answered.error().what == what && answered.error().certainty == known;
}

void count_notice(void* counter, PGresult const*) { ++*static_cast<int*>(counter); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fixed, fixture)

BOOST_AUTO_TEST_CASE(what_would_end_the_transaction_is_refused_before_anything_is_sent) {
  for (std::string_view const text :
       {"COMMIT", "  commit and chain", "/* a /* b */ */ END", "-- x\nROLLBACK", ";;COMMIT",
        "ABORT", "BEGIN", "START TRANSACTION", "SAVEPOINT a", "RELEASE a",
        "PREPARE TRANSACTION 'a'", "COPY pg_class TO STDOUT", "-- x\rCOMMIT"}) {
    BOOST_TEST_CONTEXT(text) {
      auto const answered = run("refused", text);
      BOOST_TEST(failed(answered, errc::invalid_argument, idem::certainty::not_executed));
      check_nothing_stays();
    }
  }
  BOOST_TEST(is<idem::executed>(run("refused", "SELECT 'COMMIT'")));
}

// EXECUTE of a statement that the protocol prepared is the one way past the first word: what comes
// of it is the server's affair (PostgreSQL 15 ends the session), but it must not pass for executed.
BOOST_AUTO_TEST_CASE(a_commit_by_another_name_is_told) {
  auto* const conn = idem::postgresql::handle(*s);
  PQclear(PQprepare(conn, "sly", "COMMIT", 0, nullptr));
  auto const answered = run("sly", "EXECUTE sly");
  BOOST_TEST(failed(answered, errc::transaction_replaced, idem::certainty::in_doubt));
  BOOST_TEST(answered.error().attempts.size() == 1U);
  BOOST_TEST(effects() == records());
  auto const again = run(*connect(url), "sly");
  BOOST_TEST((again || again.error().what == errc::incomplete));
  BOOST_TEST(effects() == 1);
  BOOST_TEST(records() == 1);
}

BOOST_AUTO_TEST_CASE(a_look_that_cannot_be_made_is_made_again) {
  BOOST_TEST(is<idem::executed>(run("a")));
  auto const names =
      query_on(*s,
               "SELECT name FROM pg_prepared_statements"
               " WHERE statement LIKE '%attempt <> %' AND statement NOT LIKE '%LIKE%'");
  BOOST_TEST_REQUIRE(names.size() == 1U);
  auto const deallocate = "DEALLOCATE " + as_text(names[0][0]);
  PQclear(PQexec(idem::postgresql::handle(*s), deallocate.c_str()));
  BOOST_TEST(is<idem::replayed>(run("a")));
}

BOOST_AUTO_TEST_CASE(a_commit_that_takes_too_long_is_cancelled) {
  query("CREATE FUNCTION " + schema +
        ".slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'");
  query("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON " + schema +
        ".effect DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + schema +
        ".slow()");
  idem::run_options options;
  options.deadline = std::chrono::steady_clock::now() + 200ms;
  auto const answered = run("slow", "", options);
  BOOST_TEST(failed(answered, errc::deadline_exceeded, idem::certainty::rolled_back));
  check_nothing_stays();
}

BOOST_AUTO_TEST_CASE(a_procedure_cannot_commit_in_it) {
  query("CREATE PROCEDURE " + schema + ".ends() LANGUAGE plpgsql AS 'BEGIN COMMIT; END'");
  BOOST_TEST(!run("procedure", "CALL " + schema + ".ends()"));
  check_nothing_stays();
}

BOOST_AUTO_TEST_CASE(prepared_statements_that_the_server_has_lost_are_prepared_anew) {
  BOOST_TEST(is<idem::executed>(run("a")));
  PQclear(PQexec(idem::postgresql::handle(*s), "SELECT pg_catalog.set_config('a.b', 'c', false)"));
  for (auto const& name : query_on(*s, "SELECT name FROM pg_prepared_statements").values) {
    auto const sql = "DO $$BEGIN EXECUTE 'DEALLOCATE ' || '" + as_text(name[0]) + "'; END$$";
    PQclear(PQexec(idem::postgresql::handle(*s), sql.c_str()));
  }
  BOOST_TEST(is<idem::executed>(run("b")));
  BOOST_TEST(is<idem::replayed>(run("b")));
  BOOST_TEST(effects() == 2);
}

BOOST_AUTO_TEST_CASE(without_prepared_statements_it_is_the_same) {
  auto const unprepared =
      connect(url + (url.contains('?') ? "&" : "?") + std::string("prepared=off"));
  BOOST_TEST(is<idem::executed>(run(*unprepared, "a")));
  BOOST_TEST(is<idem::replayed>(run(*unprepared, "a")));
  BOOST_TEST(
      as_integer(query_on(*unprepared, "SELECT count(*) FROM pg_prepared_statements")[0][0]) == 0);
}

// On a connection of the caller's a warning would be printed, or be his to handle.
BOOST_AUTO_TEST_CASE(the_callers_connection_hears_no_notice) {
  int notices = 0;
  auto* const conn = PQconnectdb(url.c_str());
  PQsetNoticeReceiver(conn, count_notice, &notices);
  {
    auto const adopted = idem::postgresql::adopt(conn);
    BOOST_TEST(is<idem::executed>(run(*adopted, "a")));
    BOOST_TEST(is<idem::replayed>(run(*adopted, "a")));
    BOOST_TEST(!run(*adopted, "b", "SELECT 1 / 0"));
  }
  BOOST_TEST(PQtransactionStatus(conn) == PQTRANS_IDLE);
  BOOST_TEST(PQpipelineStatus(conn) == PQ_PIPELINE_OFF);
  BOOST_TEST(notices == 0);
  PQfinish(conn);
}

BOOST_AUTO_TEST_CASE(the_wait_limit_bounds_the_claim_alone) {
  auto const other = connect(url);
  auto tx = must(idem::transaction::begin(*other));
  auto const held = request("held");
  auto token = must(open(*other).claim(tx, held));
  idem::run_options hasty;
  hasty.wait_limit = 50ms;
  BOOST_TEST(is<idem::in_progress>(run("held", "", hasty)));
  must(tx.rollback());
  BOOST_TEST(is<idem::executed>(run("held",
                                    "SELECT set_config('a.seen', current_setting("
                                    "'lock_timeout'), false)",
                                    hasty)));
  BOOST_TEST(idem_test::is_text(one("SELECT current_setting('a.seen')"), "0"));
}

// The look behind the claim waits no longer than the claim, either.
BOOST_AUTO_TEST_CASE(a_lock_on_the_whole_table_is_not_taken_for_the_key) {
  auto const other = connect(url);
  auto tx = must(idem::transaction::begin(*other));
  must(tx.execute("LOCK TABLE " + schema + ".idem_record IN ACCESS EXCLUSIVE MODE"));
  idem::run_options hasty;
  hasty.wait_limit = 50ms;
  hasty.retry.max_attempts = 1;
  BOOST_TEST(failed(run("locked", "", hasty), errc::lock_timeout, idem::certainty::not_executed));
  must(tx.rollback());
  BOOST_TEST(is<idem::executed>(run("locked", "", hasty)));
}

BOOST_AUTO_TEST_CASE(a_deadline_cancels_it_in_the_server) {
  idem::run_options options;
  options.deadline = std::chrono::steady_clock::now() + 200ms;
  auto const answered = run("late", "SELECT pg_sleep(60)", options);
  BOOST_TEST(failed(answered, errc::deadline_exceeded, idem::certainty::rolled_back));
  check_nothing_stays();
}

// The answer and the cancel cross: the next one on the connection must not be hit by it.
BOOST_AUTO_TEST_CASE(a_late_cancel_hits_nobody) {
  auto* const conn = PQconnectdb(url.c_str());
  {
    auto const adopted = idem::postgresql::adopt(conn);
    int struck = 0;
    for (int i = 0; i < 150; ++i) {
      idem::run_options options;
      options.deadline = std::chrono::steady_clock::now() + 5ms + std::chrono::microseconds(20 * i);
      (void)run(*adopted, "late" + std::to_string(i), "SELECT pg_sleep(0.005)", options);
      PGresult* const next = PQexec(conn, "SELECT pg_sleep(0.002)");
      if (PQresultStatus(next) != PGRES_TUPLES_OK) ++struck;
      PQclear(next);
    }
    BOOST_TEST(struck == 0);
  }
  PQfinish(conn);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_sent_is_refused_whole) {
  using namespace std::string_view_literals;
  BOOST_TEST(failed(run("nul", "DELETE FROM pg_class\0 WHERE false"sv), errc::invalid_argument,
                    idem::certainty::not_executed));
  std::vector<idem::parameter> const many(65536, idem::parameter(1));
  std::array<idem::statement, 1> const all{idem::statement{"SELECT 1", many}};
  idem::lone_session source(*s);
  BOOST_TEST(failed(store.run_fixed(source, request("many"), {all, {.status = 200}}),
                    errc::invalid_argument, idem::certainty::not_executed));
  auto tx = must(idem::transaction::begin(*s));
  auto const cut = tx.execute("DELETE FROM pg_class\0 WHERE false"sv);
  BOOST_TEST((!cut && cut.error().what == errc::invalid_argument));
  must(tx.rollback());
  check_nothing_stays();
}

// The server said so, in the effect: it has undone it.
BOOST_AUTO_TEST_CASE(an_effect_that_cannot_reach_another_server_is_rolled_back) {
  idem::run_options once;
  once.retry.max_attempts = 1;
  auto const answered =
      run("foreign", "DO $$BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '08006'; END$$", once);
  BOOST_TEST(failed(answered, errc::connection_lost, idem::certainty::rolled_back));
  check_nothing_stays();
}

BOOST_AUTO_TEST_CASE(a_function_in_the_search_path_does_not_stand_in) {
  query("CREATE FUNCTION " + schema +
        ".width_bucket(float8, float8, float8, int) RETURNS int LANGUAGE sql AS 'SELECT 1'");
  std::array<std::string, 2> const texts{
      "SELECT set_config('search_path', '" + schema + ", pg_catalog', true)",
      "DELETE FROM " + schema + ".idem_record"};
  std::array<idem::statement, 2> const all{idem::statement{texts[0], {}},
                                           idem::statement{texts[1], {}}};
  idem::lone_session source(*s);
  BOOST_TEST(failed(store.run_fixed(source, request("path"), {all, {.status = 200}}),
                    errc::save_unmatched, idem::certainty::rolled_back));
  check_nothing_stays();
}

BOOST_AUTO_TEST_CASE(a_record_that_the_effect_deletes_keeps_everything_back) {
  auto const sql = "DELETE FROM " + schema + ".idem_record";
  BOOST_TEST(failed(run("deleted", sql), errc::save_unmatched, idem::certainty::rolled_back));
  check_nothing_stays();
}

BOOST_AUTO_TEST_CASE(a_response_that_is_too_large_is_refused_before_anything_is_sent) {
  auto const small = must(idem::store::open(*s, {.schema = schema, .max_response_bytes = 3}));
  idem::lone_session source(*s);
  auto const answered = small.run_fixed(source, request("large"), {{}, {.body = "four"}});
  BOOST_TEST(failed(answered, errc::response_too_large, idem::certainty::not_executed));
  BOOST_TEST(is<idem::executed>(small.run_fixed(source, request("none"), {{}, {.status = 204}})));
}

BOOST_AUTO_TEST_SUITE_END()
