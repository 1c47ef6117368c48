// SPDX-License-Identifier: BSL-1.0
// One soci::session of the user's, on SQLite.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "tests/support/soci_bench.h"
#include "tests/support/sqlite_database.h"

namespace {

using namespace idem_test;  // NOLINT(google-build-using-namespace)
using idem::certainty;
using idem::errc;

struct bench {
  temporary_folder folder;
  std::string path = folder / "a.db";
  soci_bench db{::soci::sqlite3, "dbname=" + path, "soci_session"};
  std::unique_ptr<::soci::session> sql = db.open();
  idem::soci::lone_source source{*sql};
  int calls = 0;

  idem::result<idem::outcome> run(std::string const& key) {
    return db.store().run(source, request_named(key), db.effect(calls));
  }
  // How many of this process's descriptors are on the file.
  std::ptrdiff_t descriptors() const {
    std::ptrdiff_t count = 0;
    for (auto const& one : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(one, gone) == path) ++count;
    }
    return count;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(soci_session, bench)

BOOST_AUTO_TEST_CASE(runs_plain_soci_once_and_replays) {
  auto const first = run("a");
  BOOST_TEST(is<idem::executed>(first), told(first));
  auto const second = run("a");
  BOOST_REQUIRE_MESSAGE(is<idem::replayed>(second), told(second));
  BOOST_TEST(std::get<idem::replayed>(*second).response.body.value() == "done");
  BOOST_TEST(calls == 1);
  BOOST_TEST(db.rows() == 1);
}

BOOST_AUTO_TEST_CASE(gives_the_effect_the_callers_own_session) {
  ::soci::session* seen = nullptr;
  auto const r =
      db.store().run(source, request_named("a"), idem::soci::effect([&](::soci::session& s) {
                       seen = &s;
                       return idem::response{};
                     }));
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(seen == sql.get());
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
  auto const after = run("a");
  BOOST_REQUIRE_MESSAGE(is<idem::replayed>(after), told(after));
  BOOST_TEST(std::get<idem::replayed>(*after).response.body.value() == "by hand");
}

BOOST_AUTO_TEST_CASE(refuses_a_session_in_a_transaction_and_leaves_that_open) {
  ::soci::transaction mine(*sql);
  db.write(*sql, "mine");
  auto const r = run("a");
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::session_not_idle), told(r));
  BOOST_TEST((r.error().certainty == certainty::not_executed));
  BOOST_TEST(calls == 0);
  mine.commit();
  BOOST_TEST(db.rows() == 1);
  BOOST_TEST(is<idem::executed>(run("a")));
}

BOOST_AUTO_TEST_CASE(refuses_a_session_with_rows_unread) {
  for (int i = 0; i < 3; ++i) db.write(*sql, "row");
  std::string note;
  {
    ::soci::statement reading =
        (sql->prepare << "SELECT note FROM " << db.ledger(), ::soci::into(note));
    reading.execute(true);
    auto const r = run("a");
    BOOST_REQUIRE(!r);
    BOOST_TEST((r.error().what == errc::session_not_idle), told(r));
  }
  BOOST_TEST(is<idem::executed>(run("a")));
}

BOOST_AUTO_TEST_CASE(holds_the_write_lock_before_the_effect_writes) {
  auto const other = db.open();
  bool refused = false;
  auto const effect = db.effect(calls, [&](::soci::session&) {
    try {
      *other << "BEGIN IMMEDIATE";
    } catch (::soci::soci_error const&) {
      refused = true;
    }
  });
  auto const r = db.store().run(source, request_named("a"), effect);
  BOOST_TEST(is<idem::executed>(r), told(r));
  BOOST_TEST(refused);
}

BOOST_AUTO_TEST_CASE(passes_on_what_the_effect_throws) {
  *sql << "CREATE TABLE taken (id INTEGER PRIMARY KEY)";
  *sql << "INSERT INTO taken VALUES (1)";
  auto const effect = db.effect(calls, [&](::soci::session& s) {
    db.write(s, "before");
    s << "INSERT INTO taken VALUES (1)";
  });
  BOOST_CHECK_EXCEPTION((void)db.store().run(source, request_named("a"), effect),
                        ::soci::sqlite3_soci_error, [](auto const& e) {
                          constexpr int constraint = 19;
                          return (e.result() & 0xff) == constraint;
                        });
  BOOST_TEST(calls == 1);
  BOOST_TEST(db.rows() == 0);
  auto const thrower = idem::soci::effect(
      [](::soci::session&) -> idem::response { throw std::out_of_range("the caller's own"); });
  BOOST_CHECK_THROW((void)db.store().run(source, request_named("a"), thrower), std::out_of_range);
  BOOST_TEST(is<idem::executed>(run("a")));
}

BOOST_AUTO_TEST_CASE(notices_that_the_effect_reconnected) {
  auto const effect = idem::soci::effect([&](::soci::session& s) {
    ++calls;
    db.write(s, "before");
    s.reconnect();
    return idem::response{};
  });
  auto const r = db.store().run(source, request_named("a"), effect);
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::transaction_replaced), told(r));
  BOOST_TEST((r.error().certainty == certainty::in_doubt));
  BOOST_TEST(r.error().attempts.size() == 1);
  BOOST_TEST(calls == 1);
  // Nothing of the old connection stays, its lock neither.
  BOOST_TEST(db.rows() == 0);
  db.write(db.observer(), "not locked");
  auto const resolved = db.store().resolve(*idem::soci::adopt(db.observer()).value(),
                                           request_named("a"), r.error().attempts);
  BOOST_TEST(std::holds_alternative<idem::resolved::unproven>(resolved.value()));
}

BOOST_AUTO_TEST_CASE(notices_that_the_effect_closed_the_session) {
  auto const effect = idem::soci::effect([](::soci::session& s) {
    s.close();
    return idem::response{};
  });
  auto const r = db.store().run(source, request_named("a"), effect);
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::transaction_replaced), told(r));
  auto const again = run("a");
  BOOST_REQUIRE(!again);
  BOOST_TEST((again.error().what == errc::connection_failed), told(again));
}

BOOST_AUTO_TEST_CASE(keeps_nothing_on_the_handle_between_operations) {
  auto const kept = idem::soci::adopt(*sql).value();
  BOOST_TEST(is<idem::executed>(run("a")));
  BOOST_REQUIRE(db.store().find(*kept, request_named("a").identity()).value());
  auto const before = descriptors();
  sql->reconnect();
  BOOST_TEST(descriptors() == before);
  BOOST_TEST(is<idem::replayed>(run("a")));
  BOOST_TEST(is<idem::executed>(run("b")));
  BOOST_TEST((kept->status().value() == idem::transaction_status::idle));
  auto tx = idem::transaction::begin(*kept).value();
  db.write(idem::soci::session_of(tx), "c");
  BOOST_REQUIRE(tx.commit());
  BOOST_TEST(db.rows() == 3);
}

BOOST_AUTO_TEST_CASE(tells_a_session_that_is_not_socis) {
  ::soci::session closed;
  auto const adopted = idem::soci::adopt(closed);
  BOOST_REQUIRE(!adopted);
  BOOST_TEST((adopted.error().what == errc::connection_failed));
  auto const native = open_sqlite("sqlite::memory:");
  BOOST_TEST(idem::soci::find_session(*native) == nullptr);
  auto const tx = idem::transaction::begin(*native).value();
  BOOST_CHECK_EXCEPTION(idem::soci::session_of(tx), std::bad_expected_access<idem::error>,
                        [](auto const& e) { return e.error().what == errc::invalid_argument; });
}

BOOST_AUTO_TEST_CASE(takes_one_operation_at_a_time) {
  auto const nested = db.effect(calls, [&](::soci::session&) {
    auto const inner = run("inner");
    BOOST_REQUIRE(!inner);
    BOOST_TEST((inner.error().what == errc::session_not_idle), told(inner));
  });
  BOOST_TEST(is<idem::executed>(db.store().run(source, request_named("outer"), nested)));
}

BOOST_AUTO_TEST_CASE(opens_by_url_and_says_what_is_wrong) {
  auto const opened = idem::soci::connect("sqlite+soci:" + path).value();
  BOOST_TEST(idem::soci::find_session(*opened) != nullptr);
  auto const memory = idem::soci::connect("sqlite+soci::memory:").value();
  auto tx = idem::transaction::begin(*memory).value();
  idem::soci::session_of(tx) << "CREATE TABLE t (x INTEGER)";
  BOOST_REQUIRE(tx.commit());
  auto const expect = [](std::string const& url, errc what) {
    auto const r = idem::soci::connect(url);
    BOOST_REQUIRE(!r);
    BOOST_TEST((r.error().what == what), idem::describe(r.error()));
  };
  expect("sqlite+soci:/no/such/folder/a.db", errc::connection_failed);
  expect("sqlite+soci:" + (folder / "a\"b.db"), errc::configuration);
  expect("sqlite+soci:a.db?unknown=1", errc::configuration);
  expect("mysql+soci://h/d", errc::configuration);
}

BOOST_AUTO_TEST_SUITE_END()
