// SPDX-License-Identifier: BSL-1.0
// What a session waits for and how long: locks, dead sessions, silent servers and hosts.
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "conformance/proxy/relay.h"
#include "tests/support/postgresql_server.h"
#include "tests/support/wire_socket.h"

namespace {

using namespace std::chrono_literals;
using idem::errc;
using idem_test::must;
using idem_test::postgresql_world;
namespace proxy = idem::conformance;
using clock_type = std::chrono::steady_clock;

// The same world seen through a session that shows parameters with errors, in German.
std::string talkative_url() {
  char const* const given = std::getenv("IDEM_TEST_POSTGRESQL_15_SUPERUSER");
  BOOST_REQUIRE_MESSAGE(given != nullptr,
                        "set IDEM_TEST_POSTGRESQL_15_SUPERUSER to a "
                        "superuser's URL of the same database");
  return std::string(given) +
         "?options=-c%20log_parameter_max_length_on_error%3D-1%20-c%20lc_messages%3Dde_DE.UTF-8";
}

struct fixture : postgresql_world {
  auto effect() {
    return [this](idem::transaction& tx) {
      ++runs;
      return write(tx);
    };
  }
  std::string at_ports(std::vector<std::uint16_t> const& ports, std::string const& more) const {
    std::string const database = url.substr(url.rfind('/'));
    std::string out = url.substr(0, url.find('@') + 1);
    for (auto const port : ports) {
      if (port != ports.front()) out += ',';
      out += "127.0.0.1:" + std::to_string(port);
    }
    return out + database + more;
  }
  std::uint16_t real_port() const {
    return static_cast<std::uint16_t>(std::stoi(PQport(idem::postgresql::handle(*observer))));
  }
  static auto pid_of(idem::session& s) {
    return as_integer(query_on(s, "SELECT pg_backend_pid()")[0][0]);
  }
  int runs = 0;
};

// Whether the key is held, or the whole table, nobody has to read the words.
void tells_the_key_from_the_table(fixture& f, std::string const& url) {
  auto const holder = f.connect(f.url);
  auto const waiter = f.connect(url);
  auto const store = f.open(*f.observer);
  idem::lone_session source(*waiter);
  auto const key = f.request("held by " + url.substr(url.size() - 3));
  idem::run_options const brief{.wait_limit = 30ms};
  for (int i = 0; i < 3; ++i) {  // unprepared, prepared, known
    auto tx = must(idem::transaction::begin(*holder));
    auto token = must(store.claim(tx, key));
    auto const held = store.run(source, key, f.effect(), brief);
    BOOST_TEST((held && std::holds_alternative<idem::in_progress>(*held)));
    must(tx.rollback());
    for (auto const* mode : {"SHARE", "ACCESS EXCLUSIVE"}) {
      auto locked = must(idem::transaction::begin(*holder));
      must(locked.execute("LOCK TABLE " + f.schema + ".idem_record IN " + mode + " MODE"));
      auto const waited = store.run(source, key, f.effect(), brief);
      BOOST_REQUIRE(!waited);
      BOOST_TEST(to_string(waited.error().what) == "lock_timeout");
      BOOST_TEST(to_string(waited.error().certainty) == "not_executed");
      must(locked.rollback());
    }
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sessions, fixture)

BOOST_AUTO_TEST_CASE(a_lock_on_the_table_is_not_told_as_the_identity) {
  tells_the_key_from_the_table(*this, url);
  BOOST_TEST(runs == 0);
}

BOOST_AUTO_TEST_CASE(nor_where_the_server_speaks_german_and_shows_parameters) {
  auto const u = talkative_url();
  auto const s = connect(u);
  idem::statement const bad{"SELECT 1 / 0", {}};
  auto const failed = s->execute(std::span(&bad, 1), {});
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().native.message == "Division durch Null");
  tells_the_key_from_the_table(*this, u);
}

BOOST_AUTO_TEST_CASE(a_claim_and_a_resolve_do_not_confound_them_either) {
  auto const store = open(*observer);
  auto const holder = connect(url);
  auto const waiter = connect(url);
  auto locked = must(idem::transaction::begin(*holder));
  must(locked.execute("LOCK TABLE " + schema + ".idem_record IN SHARE MODE"));
  auto tx = must(idem::transaction::begin(*waiter));
  auto const claimed = store.claim(tx, request("key"), {.wait_limit = 30ms});
  BOOST_REQUIRE(!claimed);
  BOOST_TEST(to_string(claimed.error().what) == "lock_timeout");
  must(tx.rollback());
  std::array<idem::attempt_id, 1> const attempts{idem::attempt_id::random()};
  auto const found = must(store.resolve(*waiter, request("key"), attempts, {.wait_limit = 30ms}));
  BOOST_TEST(std::holds_alternative<idem::resolved::unproven>(found));
  must(locked.rollback());
}

BOOST_AUTO_TEST_CASE(a_pool_of_dead_sessions_costs_no_attempt) {
  auto const pool = must(idem::postgresql::open_pool(url, 6));
  std::vector<idem::session*> all;
  for (int i = 0; i < 6; ++i) all.push_back(must(pool->acquire({})));
  std::vector<std::int64_t> processes;
  for (auto* s : all) processes.push_back(pid_of(*s));
  for (auto* s : all) pool->release(s, true);
  for (auto const process : processes) {
    std::array<idem::parameter, 1> const pid{process};
    query_on(*observer, "SELECT pg_terminate_backend(?)", pid);
    while (!query_on(*observer, "SELECT 1 FROM pg_stat_activity WHERE pid = ?", pid).empty())
      std::this_thread::yield();
  }
  auto const store = open(*observer);
  idem::run_options once;
  once.retry.max_attempts = 1;
  auto const answered = store.run(*pool, request("dead"), effect(), once);
  BOOST_TEST((answered && std::holds_alternative<idem::executed>(*answered)));
  BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_CASE(a_silent_host_does_not_hide_the_next) {
  idem_test::wire_listener const silent;  // accepts, and answers nothing
  auto const o = must(idem::postgresql::parse_url(at_ports({silent.port(), real_port()}, "")));
  auto const begun = clock_type::now();
  auto const s = idem::postgresql::connect(o, {.deadline = begun + 3s});
  BOOST_REQUIRE_MESSAGE(s.has_value(), (s ? std::string() : describe(s.error())));
  BOOST_TEST(as_integer(query_on(**s, "SELECT 1")[0][0]) == 1);
  auto const limited = must(
      idem::postgresql::parse_url(at_ports({silent.port(), real_port()}, "?connect_timeout=2")));
  BOOST_TEST(idem::postgresql::connect(limited).has_value());
  BOOST_TEST((clock_type::now() - begun < 10s));
}

BOOST_AUTO_TEST_CASE(a_list_of_hosts_means_what_it_means_to_libpq) {
  auto const at = [&](std::vector<std::uint16_t> const& ports, std::string const& more) {
    return idem::postgresql::connect(must(idem::postgresql::parse_url(at_ports(ports, more))),
                                     {.deadline = clock_type::now() + 5s});
  };
  auto const real = real_port();
  auto refused = [] {
    idem_test::wire_listener gone;
    return gone.port();
  }();
  BOOST_TEST(at({refused, real}, "").has_value());
  BOOST_TEST(at({refused, real}, "?target_session_attrs=primary").has_value());
  BOOST_TEST(at({refused, real}, "?target_session_attrs=prefer-standby").has_value());
  auto const none = at({real, real}, "?target_session_attrs=standby");
  BOOST_REQUIRE(!none);
  BOOST_TEST(to_string(none.error().what) == "connection_failed");
  auto const nobody = at({refused, refused}, "");
  BOOST_REQUIRE(!nobody);
  BOOST_TEST(to_string(nobody.error().what) == "connection_failed");
  // A server that says no is the last one that is asked.
  idem_test::wire_listener next;
  auto wrong = at_ports({real, next.port()}, "");
  auto const user = wrong.find("//") + 2;
  wrong.insert(user, "nobody_");
  auto const denied = idem::postgresql::connect(must(idem::postgresql::parse_url(wrong)),
                                                {.deadline = clock_type::now() + 5s});
  BOOST_REQUIRE(!denied);
  BOOST_TEST(to_string(denied.error().what) == "connection_failed");
  BOOST_TEST(to_string(denied.error().advice) == "never");
}

// ROLLBACK is sent and its answer is read before the session's next use.
BOOST_AUTO_TEST_CASE(an_unanswered_rollback_does_not_outlast_the_deadline) {
  auto between = must(proxy::relay::start({.host = "127.0.0.1", .port = real_port()}));
  auto const sessions =
      idem::postgresql::pool(must(idem::postgresql::parse_url(at_ports({between.port()}, ""))), 2);
  auto const store = open(*observer);
  between.arm({.way = proxy::direction::to_server,
               .action = proxy::fault_action::hold,
               .when = proxy::moment::before,
               .matches = [](proxy::message const& m) { return m.text == "ROLLBACK"; }});
  auto const begun = clock_type::now();
  auto const answered = store.run(*sessions, request("late"),
                                  [&](idem::transaction&) -> idem::result<idem::response> {
                                    ++runs;
                                    idem::error e;
                                    e.advice = idem::advice::new_transaction;
                                    e.message = "again";
                                    return std::unexpected(e);
                                  },
                                  {.deadline = begun + 500ms});
  auto const took = clock_type::now() - begun;
  BOOST_REQUIRE(!answered);
  BOOST_TEST(between.fired());
  BOOST_TEST((took < 4s));
  between.release();
}

BOOST_AUTO_TEST_CASE(a_savepoint_of_the_effect_is_not_taken_for_the_claims) {
  auto const store = open(*observer);
  auto const s = connect(url);
  idem::lone_session source(*s);
  for (auto const* name : {"idem", "idem_claim", "idem_guard", "claim"}) {
    idem::run_options options;
    options.refusals = idem::refusal_policy::store;
    auto const r = store.run(
        source, request(name),
        [&](idem::transaction& tx) -> idem::refusal {
          must(write(tx));
          must(tx.execute(std::string("SAVEPOINT ") + name));
          return {{402, {}, "no"}};
        },
        options);
    BOOST_TEST((r && std::get<idem::refused>(*r).stored), name);
    BOOST_TEST(effects() == 0, name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
