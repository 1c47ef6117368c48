// SPDX-License-Identifier: BSL-1.0
// What an effect or a caller must not do with what it is given, on a real SQLite: refused, or
// answered with the truth.
#include <idem/schema.h>
#include <idem/sqlite.h>
#include <idem/store.h>
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>

namespace {

using namespace idem;

struct world {
  std::unique_ptr<session_pool> pool = sqlite::open_pool("sqlite::memory:").value();
  session_lease first = session_lease::acquire(*pool, {}).value();
  idem::store store = installed(*first);
  request asked = request::from_bytes({"s", "o", "k"}, "content").value();

  static idem::store installed(session& s) {
    schema::install(s, {}).value();
    statement const table{"CREATE TABLE t (x INTEGER)", {}};
    s.execute(std::span(&table, 1), {}).value();
    return idem::store::open(s).value();
  }
  std::int64_t rows_in_t() {
    statement const count{"SELECT count(*) FROM t", {}};
    return as_integer(first->execute(std::span(&count, 1), {}).value()[0][0][0]);
  }
};

answer plain_function(transaction&) { return response{200, {}, "f"}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(sqlite_misuse)

BOOST_AUTO_TEST_CASE(an_effect_cannot_end_the_session_that_it_was_lent) {
  world w;
  lone_session source(*w.first);
  auto const called = w.store.run(source, w.asked, [](transaction& tx) -> result<answer> {
    tx.execute("INSERT INTO t VALUES (1)").value();
    BOOST_TEST((tx.session().commit({}, {}).error().what == errc::unsupported));
    BOOST_TEST((tx.session().rollback().error().what == errc::unsupported));
    BOOST_TEST((tx.session().reset().error().what == errc::unsupported));
    return answer(response{200, {}, "r"});
  });
  BOOST_REQUIRE(called);
  BOOST_TEST(std::holds_alternative<executed>(*called));
  BOOST_TEST(w.rows_in_t() == 1);
}

BOOST_AUTO_TEST_CASE(an_adopted_transaction_that_is_gone_takes_no_statement) {
  world w;
  sqlite3* const handle = sqlite::handle(*w.first);
  auto const adopted = sqlite::adopt(handle);
  BOOST_TEST(sqlite3_exec(handle, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  auto tx = transaction::adopt(*adopted).value();
  auto claimed = w.store.claim(tx, w.asked).value();
  BOOST_TEST(sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK);
  auto const late = tx.execute("INSERT INTO t VALUES (1)");
  BOOST_REQUIRE(!late);
  BOOST_TEST((late.error().what == errc::transaction_replaced));
  BOOST_TEST(w.rows_in_t() == 0);
}

BOOST_AUTO_TEST_CASE(resolve_needs_an_idle_session) {
  world w;
  auto tx = transaction::begin(*w.first).value();
  auto claimed = w.store.claim(tx, w.asked).value();
  auto const attempt =
      w.store.complete(tx, std::move(std::get<claim_token>(claimed)), {200, {}, "r"}).value();
  auto const early = w.store.resolve(*w.first, w.asked, std::span(&attempt, 1));
  BOOST_REQUIRE(!early);
  BOOST_TEST((early.error().what == errc::session_not_idle));
}

BOOST_AUTO_TEST_CASE(other_content_learns_nothing_of_its_own_attempt) {
  world w;
  lone_session source(*w.first);
  auto const called = w.store.run(source, w.asked, plain_function).value();
  auto const attempt = std::get<executed>(called).attempt;
  auto const attempts = std::span(&attempt, 1);
  auto const same = w.store.resolve(*w.first, w.asked, attempts).value();
  BOOST_REQUIRE(std::holds_alternative<resolved::executed>(same));
  BOOST_TEST(std::get<resolved::executed>(same).response.body.value() == "f");
  auto const changed = request::from_bytes({"s", "o", "k"}, "other content").value();
  auto const other = w.store.resolve(*w.first, changed, attempts).value();
  BOOST_TEST(std::holds_alternative<resolved::mismatched>(other));
}

BOOST_AUTO_TEST_CASE(a_schema_of_temporary_tables_is_refused) {
  world w;
  for (auto const* name : {"temp", "TEMP", "Temp"}) {
    BOOST_TEST((schema::install(*w.first, {name, "idem_"}).error().what == errc::invalid_argument));
    store_options options;
    options.schema = name;
    BOOST_TEST((store::open(*w.first, options).error().what == errc::invalid_argument));
  }
}

BOOST_AUTO_TEST_CASE(a_function_is_an_effect) {
  world w;
  lone_session source(*w.first);
  BOOST_TEST(
      std::holds_alternative<executed>(w.store.run(source, w.asked, plain_function).value()));
  BOOST_TEST(
      std::holds_alternative<replayed>(w.store.run(source, w.asked, plain_function).value()));
}

BOOST_AUTO_TEST_CASE(a_pointer_is_no_bool) {
  static_assert(!std::is_constructible_v<parameter, unsigned char const*>);
  static_assert(std::is_constructible_v<parameter, bool>);
  char const* const none = nullptr;
  BOOST_TEST(std::holds_alternative<std::monostate>(parameter(none).get()));
}

BOOST_AUTO_TEST_CASE(a_hook_that_replaces_the_guard_is_noticed) {
  world w;
  lone_session source(*w.first);
  auto const called = w.store.run(source, w.asked, [](transaction& tx) -> result<answer> {
    tx.execute("INSERT INTO t VALUES (1)").value();
    sqlite3_commit_hook(sqlite::handle(tx), nullptr, nullptr);
    sqlite3_exec(sqlite::handle(tx), "COMMIT", nullptr, nullptr, nullptr);
    return answer(response{200, {}, "r"});
  });
  BOOST_REQUIRE(!called);
  BOOST_TEST((called.error().what == errc::transaction_replaced));
  BOOST_TEST((called.error().certainty == certainty::in_doubt));
}

BOOST_AUTO_TEST_SUITE_END()
