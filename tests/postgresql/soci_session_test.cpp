// SPDX-License-Identifier: BSL-1.0
// Sessions and pools of SOCI on a real server, and what may happen to them.
#include <libpq-fe.h>
#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>
// clang-format off
#include <soci/callbacks.h>  // needs what is before it
// clang-format on

#include <optional>

#include "tests/support/postgresql_server.h"
#include "tests/support/soci_bench.h"

namespace {

using namespace idem_test;  // NOLINT(google-build-using-namespace)
using idem::certainty;
using idem::errc;
using std::chrono::milliseconds;

// SOCI takes no URI.
std::string words(std::string const& url) {
  auto* const all = PQconninfoParse(url.c_str(), nullptr);
  BOOST_REQUIRE(all != nullptr);
  std::string text;
  for (auto const* one = all; one->keyword != nullptr; ++one)
    if (one->val != nullptr) text += std::string(one->keyword) + "='" + one->val + "' ";
  PQconninfoFree(all);
  return text;
}

PGconn* handle(::soci::session& sql) {
  return static_cast<::soci::postgresql_session_backend*>(sql.get_backend())->conn_;
}

int process_of(::soci::session& sql) { return PQbackendPID(handle(sql)); }

struct bench {
  std::string connect_string = words(postgresql_url());
  soci_bench db{::soci::postgresql, connect_string, "idem_soci"};
  std::unique_ptr<::soci::session> sql = db.open();
  idem::soci::lone_source source{*sql};
  int calls = 0;

  idem::result<idem::outcome> run(idem::session_source& from, std::string const& key) {
    return db.store().run(from, request_named(key), db.effect(calls));
  }

  // Ends the session's server process and waits until it is gone.
  void kill(int process) {
    auto& other = db.observer();
    int there = 1;
    other << "SELECT pg_terminate_backend(:p, 20000)::integer", ::soci::use(process),
        ::soci::into(there);
    BOOST_REQUIRE(there == 1);
  }

  // COMMIT of a row with this note ends the server process the first `times` times.
  void break_commits(int times) {
    auto& other = db.observer();
    other << "DROP SEQUENCE IF EXISTS idem_soci_commits";
    other << "CREATE SEQUENCE idem_soci_commits";
    other << "CREATE OR REPLACE FUNCTION idem_soci_break() RETURNS trigger LANGUAGE plpgsql AS "
             "'BEGIN IF nextval(''idem_soci_commits'') <= "
          << times
          << " THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END'";
    other << "CREATE CONSTRAINT TRIGGER break AFTER INSERT ON " << db.ledger()
          << " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION idem_soci_break()";
  }
};

// Connects anew when SOCI finds the connection lost.
struct connects_anew : ::soci::failover_callback {
  int times = 0;
  void failed(bool& retry, std::string&) override {
    retry = true;
    ++times;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(soci_session, bench)

BOOST_AUTO_TEST_CASE(runs_plain_soci_once_and_replays) {
  auto const first = run(source, "a");
  BOOST_TEST(is<idem::executed>(first), told(first));
  auto const second = run(source, "a");
  BOOST_TEST(is<idem::replayed>(second), told(second));
  BOOST_TEST(calls == 1);
  BOOST_TEST(db.rows() == 1);
}

BOOST_AUTO_TEST_CASE(leaves_pipeline_mode_before_the_effect) {
  auto const effect = db.effect(calls, [&](::soci::session& s) {
    BOOST_TEST(PQpipelineStatus(handle(s)) == PQ_PIPELINE_OFF);
    BOOST_TEST(PQtransactionStatus(handle(s)) == PQTRANS_INTRANS);
    int one = 0;
    ::soci::statement prepared = (s.prepare << "SELECT 1", ::soci::into(one));
    prepared.execute(true);
    BOOST_TEST(one == 1);
  });
  for (auto const* key : {"a", "b"}) {
    auto const r = db.store().run(source, request_named(key), effect);
    BOOST_TEST(is<idem::executed>(r), told(r));
  }
  int socis = -1;
  int idems = -1;
  *sql << "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'st\\_%' AND name <> "
          "'st_' || (SELECT max(substr(name, 4)::integer) FROM pg_prepared_statements "
          "WHERE name LIKE 'st\\_%')",
      ::soci::into(socis);
  BOOST_TEST(socis == 0);  // but this very statement
  *sql << "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'idem\\_%'",
      ::soci::into(idems);
  BOOST_TEST(idems > 0);
}

BOOST_AUTO_TEST_CASE(claims_and_completes_in_a_transaction_of_soci) {
  auto const session = idem::soci::adopt(*sql).value();
  auto const claim_write_complete = [&](std::string const& key) {
    auto tx = idem::transaction::adopt(*session).value();
    auto claimed = db.store().claim(tx, request_named(key)).value();
    auto* token = std::get_if<idem::claim_token>(&claimed);
    if (token == nullptr) return false;
    db.write(*sql, key);
    db.store().complete(tx, std::move(*token), {200, {}, "by hand"}).value();
    return true;
  };
  {
    ::soci::transaction mine(*sql);
    BOOST_TEST(claim_write_complete("a"));
    mine.rollback();
  }
  BOOST_TEST(db.rows() == 0);
  for (bool const claims : {true, false}) {
    ::soci::transaction mine(*sql);
    BOOST_TEST(claim_write_complete("a") == claims);
    mine.commit();
  }
  BOOST_TEST(db.rows() == 1);
  auto const after = run(source, "a");
  BOOST_TEST(is<idem::replayed>(after), told(after));
}

BOOST_AUTO_TEST_CASE(refuses_to_claim_where_the_callers_session_connected_anew) {
  auto const session = idem::soci::adopt(*sql).value();
  sql->begin();
  auto tx = idem::transaction::adopt(*session).value();
  auto claimed = db.store().claim(tx, request_named("a")).value();
  sql->reconnect();
  sql->begin();
  auto const completed = db.store().complete(tx, std::move(std::get<idem::claim_token>(claimed)),
                                             {200, {}, "by hand"});
  BOOST_REQUIRE(!completed);
  BOOST_TEST((completed.error().what == errc::save_unmatched ||
              completed.error().what == errc::transaction_replaced),
             idem::describe(completed.error()));
  sql->rollback();
  BOOST_TEST(is<idem::executed>(run(source, "a")));
}

BOOST_AUTO_TEST_CASE(refuses_a_session_in_a_transaction_and_leaves_that_open) {
  ::soci::transaction mine(*sql);
  db.write(*sql, "mine");
  auto const r = run(source, "a");
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::session_not_idle), told(r));
  BOOST_TEST(calls == 0);
  mine.commit();
  BOOST_TEST(db.rows() == 1);
  BOOST_TEST(is<idem::executed>(run(source, "a")));
}

BOOST_AUTO_TEST_CASE(refuses_a_session_with_results_unread) {
  BOOST_REQUIRE(PQsendQuery(handle(*sql), "SELECT 1") == 1);
  auto const r = run(source, "a");
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::session_not_idle), told(r));
  BOOST_TEST(calls == 0);
  while (PGresult* unread = PQgetResult(handle(*sql))) PQclear(unread);
  BOOST_TEST(is<idem::executed>(run(source, "a")));
  // One that is left so in a pool is connected anew.
  auto const connections = db.pool(1);
  idem::soci::pool_source from(*connections);
  BOOST_REQUIRE(PQsendQuery(handle(connections->at(0)), "SELECT 1") == 1);
  BOOST_TEST(is<idem::executed>(run(from, "b")));
}

BOOST_AUTO_TEST_CASE(passes_on_what_the_effect_throws) {
  auto const effect = db.effect(calls, [&](::soci::session& s) {
    db.write(s, "before");
    s << "INSERT INTO " << db.ledger() << " (note) VALUES (NULL)";
  });
  BOOST_CHECK_EXCEPTION((void)db.store().run(source, request_named("a"), effect),
                        ::soci::postgresql_soci_error,
                        [](auto const& e) { return e.sqlstate() == "23502"; });
  BOOST_TEST(calls == 1);
  BOOST_TEST(db.rows() == 0);
  BOOST_TEST(is<idem::executed>(run(source, "a")));
}

BOOST_AUTO_TEST_CASE(starts_again_after_a_serialization_failure_that_soci_throws) {
  db.write(db.observer(), "contended");
  auto const effect = db.effect(calls, [&](::soci::session& s) {
    int seen = 0;
    s << "SELECT count(*) FROM " << db.ledger(), ::soci::into(seen);
    if (calls == 1) db.observer() << "UPDATE " << db.ledger() << " SET note = 'changed'";
    s << "UPDATE " << db.ledger() << " SET note = 'ours'";
  });
  idem::run_options options;
  options.isolation = idem::isolation::repeatable_read;
  auto const r = db.store().run(source, request_named("a"), effect, options);
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(calls == 2);
  BOOST_TEST(db.rows() == 2);
  // Every attempt: the last exception is the caller's.
  options.retry.max_attempts = 2;
  calls = 0;
  auto const never = idem::soci::effect([&](::soci::session& s) -> idem::response {
    ++calls;
    s << "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40P01'; END $$";
    return {};
  });
  BOOST_CHECK_EXCEPTION((void)db.store().run(source, request_named("b"), never, options),
                        ::soci::postgresql_soci_error,
                        [](auto const& e) { return e.sqlstate() == "40P01"; });
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(starts_again_where_the_effect_reconnected) {
  auto const connections = db.pool(1);
  idem::soci::pool_source from(*connections);
  auto const once = db.effect(calls, [&](::soci::session& s) {
    db.write(s, "before");
    if (calls == 1) s.reconnect();
    if (calls == 1) throw std::runtime_error("as an effect may");
  });
  auto const r = db.store().run(from, request_named("a"), once);
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(calls == 2);
  BOOST_TEST(db.rows() == 2);
  idem::run_options twice;
  twice.retry.max_attempts = 2;
  auto const always = idem::soci::effect([](::soci::session& s) {
    s.reconnect();
    return idem::response{};
  });
  auto const replaced = db.store().run(from, request_named("b"), always, twice);
  BOOST_REQUIRE(!replaced);
  BOOST_TEST((replaced.error().what == errc::transaction_replaced), told(replaced));
  BOOST_TEST((replaced.error().certainty == certainty::in_doubt));
  BOOST_TEST(is<idem::executed>(run(from, "b")));
}

BOOST_AUTO_TEST_CASE(starts_again_where_a_failover_callback_connected_anew) {
  connects_anew callback;
  sql->set_failover_callback(callback);
  auto const effect = db.effect(calls, [&](::soci::session& s) {
    db.write(s, "before");
    if (calls == 1) kill(process_of(s));
  });
  auto const r = db.store().run(source, request_named("a"), effect);
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(callback.times == 1);
  BOOST_TEST(calls == 2);
  BOOST_TEST(db.rows() == 2);
}

BOOST_AUTO_TEST_CASE(connects_a_dead_session_of_the_pool_anew) {
  auto const connections = db.pool(2);
  idem::soci::pool_source from(*connections);
  BOOST_TEST(is<idem::executed>(run(from, "a")));
  for (std::size_t i = 0; i < 2; ++i) kill(process_of(connections->at(i)));
  auto const r = run(from, "b");
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(db.rows() == 2);
  // One that dies in the hands of an operation is not given back so.
  idem::run_options once;
  once.retry.max_attempts = 1;
  auto const dies = db.effect(calls, [&](::soci::session& s) { kill(process_of(s)); });
  BOOST_CHECK_THROW((void)db.store().run(from, request_named("c"), dies, once), ::soci::soci_error);
  ::soci::session first(*connections);
  int one = 0;
  first << "SELECT 1", ::soci::into(one);
  BOOST_TEST(one == 1);
}

BOOST_AUTO_TEST_CASE(tells_a_lost_connection_from_one_that_was_replaced) {
  idem::run_options once;
  once.retry.max_attempts = 1;
  std::optional<idem::error> pending;
  auto const r = db.store().run(
      source, request_named("a"),
      [&](idem::transaction& tx) -> idem::result<idem::response> {
        auto& s = idem::soci::session_of(tx);
        kill(process_of(s));
        BOOST_CHECK_THROW(db.write(s, "too late"), ::soci::soci_error);
        pending = tx.session().pending_error();
        return std::unexpected(pending.value_or(idem::error{}));
      },
      once);
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::connection_lost), told(r));
  BOOST_TEST((r.error().certainty == certainty::rolled_back));
  BOOST_TEST((pending && pending->what == errc::connection_lost));
}

BOOST_AUTO_TEST_CASE(rolls_back_what_was_left_open_in_the_pool) {
  auto const connections = db.pool(1);
  idem::soci::pool_source from(*connections);
  {
    ::soci::session careless(*connections);
    careless.begin();
    db.write(careless, "left open");
  }
  BOOST_TEST(is<idem::executed>(run(from, "a")));
  BOOST_TEST(db.rows() == 1);
  {
    ::soci::session careless(*connections);
    careless.begin();
    BOOST_CHECK_THROW(careless << "SELECT 1/0", ::soci::soci_error);
  }
  BOOST_TEST(is<idem::executed>(run(from, "b")));
  auto* const lent = from.acquire({}).value();
  idem::soci::find_session(*lent)->begin();
  from.release(lent, true);
  BOOST_TEST(PQtransactionStatus(handle(connections->at(0))) == PQTRANS_IDLE);
}

BOOST_AUTO_TEST_CASE(a_pool_of_one_finds_out_by_connecting_anew) {
  break_commits(1);
  auto const connections = db.pool(1);
  idem::soci::pool_source from(*connections);
  auto const r = run(from, "a");
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(calls == 2);
  BOOST_TEST(db.rows() == 1);
}

BOOST_AUTO_TEST_CASE(one_session_stays_in_doubt_and_another_finds_out) {
  break_commits(1);
  auto const r = run(source, "a");
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::commit_in_doubt), told(r));
  BOOST_TEST((r.error().certainty == certainty::in_doubt));
  auto const other = idem::soci::adopt(db.observer()).value();
  auto const found = db.store().resolve(*other, request_named("a"), r.error().attempts).value();
  BOOST_TEST(std::holds_alternative<idem::resolved::absent>(found));
  auto const again = run(source, "a");
  BOOST_REQUIRE(!again);
  BOOST_TEST((again.error().what == errc::connection_lost), told(again));
  sql->reconnect();
  BOOST_TEST(is<idem::executed>(run(source, "a")));
}

BOOST_AUTO_TEST_CASE(gives_no_session_back_with_a_cancel_on_its_way) {
  auto const connections = db.pool(1);
  idem::soci::pool_source from(*connections);
  int const before = process_of(connections->at(0));
  auto* const lent = from.acquire({}).value();
  idem::statement const slow{"SELECT pg_sleep(60)", {}};
  idem::call_limits limits;
  limits.deadline = std::chrono::steady_clock::now() + milliseconds(50);
  auto const stopped = lent->execute(std::span(&slow, 1), limits);
  BOOST_REQUIRE(!stopped);
  BOOST_TEST((stopped.error().what == errc::deadline_exceeded));
  from.release(lent, true);
  BOOST_TEST(process_of(connections->at(0)) != before);
}

BOOST_AUTO_TEST_CASE(opens_by_url_and_says_what_is_wrong) {
  auto const url = postgresql_url();
  auto const scheme = url.find(':');
  auto const opened = idem::soci::connect("postgresql+soci" + url.substr(scheme)).value();
  BOOST_TEST(idem::soci::find_session(*opened) != nullptr);
  auto const refused = idem::soci::connect("postgresql+soci://nobody:x@127.0.0.1:1/none");
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().what == errc::connection_failed), idem::describe(refused.error()));
}

BOOST_AUTO_TEST_SUITE_END()
