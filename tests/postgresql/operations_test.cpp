// SPDX-License-Identifier: BSL-1.0
// Whole operations through the relay: what each path costs, exactly, and what cut wires leave.
#include <libpq-fe.h>

#include "conformance/proxy/relay.h"
#include "tests/support/postgresql_server.h"

namespace {

using namespace std::chrono_literals;
using idem::outcome;
using idem_test::must;
using idem_test::postgresql_world;
namespace proxy = idem::conformance;

struct fixture : postgresql_world {
  fixture() : between(started()) {}

  proxy::relay started() const {
    auto* const conn = idem::postgresql::handle(*observer);
    return must(proxy::relay::start(
        {.host = PQhost(conn), .port = static_cast<std::uint16_t>(std::stoi(PQport(conn)))}));
  }
  std::string through_relay() const {
    auto const at = url.rfind(':', url.find('/', url.find('@')));
    auto const slash = url.find('/', at);
    return url.substr(0, at + 1) + std::to_string(between.port()) + url.substr(slash);
  }
  std::unique_ptr<idem::session_pool> pool(std::string const& options = "") const {
    return must(idem::postgresql::open_pool(through_relay() + options, 2));
  }
  auto effect() {
    return [this](idem::transaction& tx) {
      ++runs;
      return write(tx);
    };
  }
  std::size_t trips() { return between.counts().round_trips; }

  proxy::relay between;
  int runs = 0;
};

template <class O>
bool is(idem::result<outcome> const& answered) {
  if (!answered) BOOST_TEST_MESSAGE(describe(answered.error()));
  return answered && std::holds_alternative<O>(*answered);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(operations, fixture)

BOOST_AUTO_TEST_CASE(round_trips_of_each_path) {
  auto const sessions = pool();
  auto* const s = must(sessions->acquire({}));
  auto const store = open(*s);
  sessions->release(s, true);
  BOOST_REQUIRE(is<idem::executed>(store.run(*sessions, request("warm"), effect())));

  between.reset_counts();
  BOOST_TEST(is<idem::executed>(store.run(*sessions, request("a"), effect())));
  BOOST_TEST(trips() == 3U);  // begin and claim, the effect's statement, save and COMMIT

  // The answer is returned after the first flush. The second one, ROLLBACK, is answered before the
  // session is used again.
  auto const answered_in_two_flushes = [&] {
    auto* const again = must(sessions->acquire({}));
    BOOST_TEST((must(again->status()) == idem::transaction_status::idle));
    sessions->release(again, true);
    return between.counts().to_server.messages.at('S') == 2U;
  };
  between.reset_counts();
  BOOST_TEST(is<idem::replayed>(store.run(*sessions, request("a"), effect())));
  BOOST_TEST(answered_in_two_flushes());
  between.reset_counts();
  BOOST_TEST(is<idem::mismatched>(store.run(*sessions, request("a", "other"), effect())));
  BOOST_TEST(answered_in_two_flushes());
  BOOST_TEST(runs == 2);
  BOOST_TEST(effects() == 2);
}

BOOST_AUTO_TEST_CASE(without_prepared_statements_it_is_the_same) {
  auto const sessions = pool("?prepared=off");
  auto* const s = must(sessions->acquire({}));
  auto const store = open(*s);
  sessions->release(s, true);
  between.reset_counts();
  BOOST_TEST(is<idem::executed>(store.run(*sessions, request("a"), effect())));
  BOOST_TEST(trips() == 3U);
  BOOST_TEST(is<idem::replayed>(store.run(*sessions, request("a"), effect())));
  BOOST_TEST(effects() == 1);
}

// Cut at every message in both directions, until a run fires nothing. Whatever is cut, one
// identity has one effect, and what run says is true.
BOOST_AUTO_TEST_CASE(a_cut_at_every_message) {
  auto const store = open(*observer);
  std::size_t executed = 0;
  for (auto const way : {proxy::direction::to_server, proxy::direction::to_client}) {
    for (std::size_t i = 0;; ++i) {
      BOOST_REQUIRE(i < 300U);
      auto const key = std::string(to_string(way)) + std::to_string(i);
      auto const before = effects();
      auto const sessions =
          idem::postgresql::pool(must(idem::postgresql::parse_url(through_relay())), 4);
      between.arm({.way = way, .index = i, .connection = between.accepted()});
      auto const answered = store.run(*sessions, request(key), effect());
      BOOST_TEST_CONTEXT(key) {
        BOOST_TEST(is<idem::executed>(answered));
        BOOST_TEST(effects() == before + 1);
        BOOST_TEST(is<idem::replayed>(store.run(*sessions, request(key), effect())));
        BOOST_TEST(effects() == before + 1);
      }
      ++executed;
      if (!between.fired()) break;
    }
    BOOST_TEST_MESSAGE(to_string(way) << ": " << executed << " runs");
  }
  BOOST_TEST(records() == effects());
}

// The COMMIT is on its way while the operation is asked for again: the claim waits for it.
BOOST_AUTO_TEST_CASE(a_commit_that_arrives_late) {
  auto const store = open(*observer);
  auto const sessions =
      idem::postgresql::pool(must(idem::postgresql::parse_url(through_relay())), 4);
  between.arm({.way = proxy::direction::to_server,
               .action = proxy::fault_action::hold,
               .when = proxy::moment::before,
               .matches = proxy::is_commit});
  auto const first =
      store.run(*sessions, request("late"), effect(),
                {.wait_limit = 300ms, .deadline = std::chrono::steady_clock::now() + 1s});
  BOOST_REQUIRE(!first);
  BOOST_TEST(between.fired());
  BOOST_TEST((first.error().what == idem::errc::commit_in_doubt));
  BOOST_TEST((first.error().certainty == idem::certainty::in_doubt));
  BOOST_REQUIRE(!first.error().attempts.empty());
  // Its transaction holds the identity: nobody can say yet.
  auto const resolver = connect(url);
  auto const open_still =
      must(store.resolve(*resolver, request("late"), first.error().attempts, {.wait_limit = 50ms}));
  BOOST_TEST(std::holds_alternative<idem::resolved::open>(open_still));
  BOOST_TEST(
      is<idem::in_progress>(store.run(*sessions, request("late"), effect(), {.wait_limit = 50ms})));
  between.release();
  auto const settled =
      must(store.resolve(*resolver, request("late"), first.error().attempts, {.wait_limit = 10s}));
  BOOST_TEST(std::holds_alternative<idem::resolved::executed>(settled));
  BOOST_TEST(is<idem::replayed>(store.run(*sessions, request("late"), effect())));
  BOOST_TEST(effects() == 1);
}

BOOST_AUTO_TEST_CASE(a_claim_that_waited_in_vain_leaves_no_limit_behind) {
  auto const store = open(*observer);
  auto const holder = connect(url);
  auto held = must(idem::transaction::begin(*holder));
  auto const taken = must(store.claim(held, request("held")));
  auto const waiter = connect(url);
  auto tx = must(idem::transaction::begin(*waiter));
  auto const told = must(store.claim(tx, request("held"), {.wait_limit = 0ms}));
  BOOST_TEST(std::holds_alternative<idem::in_progress>(told));
  auto const limit = must(tx.execute("SELECT current_setting('lock_timeout')"));
  BOOST_TEST(std::get<std::string>(limit[0][0]) == "0");
  BOOST_TEST(std::holds_alternative<idem::claim_token>(must(store.claim(tx, request("free")))));
}

BOOST_AUTO_TEST_CASE(an_effect_that_commits_and_goes_on_in_a_chain) {
  auto const sessions = idem::postgresql::pool(must(idem::postgresql::parse_url(url)), 2);
  auto const store = open(*observer);
  auto const answered = store.run(*sessions, request("chain"), [&](idem::transaction& tx) {
    auto written = write(tx);
    (void)tx.execute("COMMIT AND CHAIN");
    (void)write(tx);
    return written;
  });
  BOOST_REQUIRE(!answered);
  BOOST_TEST((answered.error().what == idem::errc::transaction_replaced));
  BOOST_TEST((answered.error().certainty == idem::certainty::in_doubt));
  BOOST_TEST(effects() == 1);  // what came after the chain is gone
}

BOOST_AUTO_TEST_CASE(a_failed_effect_that_had_committed_is_in_doubt) {
  auto const sessions = idem::postgresql::pool(must(idem::postgresql::parse_url(url)), 2);
  auto const store = open(*observer);
  auto const answered = store.run(*sessions, request("half"),
                                  [&](idem::transaction& tx) -> idem::result<idem::response> {
                                    auto const written = write(tx);
                                    auto* const conn = idem::postgresql::handle(tx);
                                    PQclear(PQexec(conn, "COMMIT"));
                                    PQclear(PQexec(conn, "BEGIN"));
                                    auto failed = tx.execute("SELECT 1 / 0");
                                    return std::unexpected(failed.error());
                                  });
  BOOST_REQUIRE(!answered);
  BOOST_TEST((answered.error().what == idem::errc::transaction_replaced));
  BOOST_TEST((answered.error().certainty == idem::certainty::in_doubt));
}

BOOST_AUTO_TEST_SUITE_END()
