// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/support/relay_stage.h"

namespace {

using namespace idem::conformance;
using namespace idem_test;
using namespace std::chrono_literals;
using stage = relay_stage;

std::string const committed = pg_done("COMMIT") + pg_ready();

}  // namespace

BOOST_AUTO_TEST_SUITE(relay_faults)

BOOST_AUTO_TEST_CASE(cut_before_a_message) {
  for (auto const action : {fault_action::cut_rst, fault_action::cut_fin}) {
    stage s;
    s.open();
    s.between.arm(at_commit(up, action, moment::before));
    s.query("insert", "INSERT 0 1");
    BOOST_TEST(!s.between.fired());
    BOOST_TEST(s.client.send(pg_query("commit")));
    BOOST_TEST(s.client.how_it_ends() == (action == fault_action::cut_rst ? "reset" : "end"));
    BOOST_TEST(s.server.how_it_ends() == "end");
    BOOST_TEST(s.between.fired());
    BOOST_TEST(s.between.matched() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(cut_after_a_message) {
  for (auto const action : {fault_action::cut_rst, fault_action::cut_fin}) {
    stage s;
    s.open();
    s.between.arm(at_commit(up, action, moment::after));
    BOOST_TEST(s.client.send(pg_bind("", "") + pg_query("commit") + pg_query("later")));
    BOOST_TEST(s.client.how_it_ends() == (action == fault_action::cut_rst ? "reset" : "end"));
    auto const passed = pg_bind("", "") + pg_query("commit");
    BOOST_TEST(s.server.receive(passed.size()) == passed);
    BOOST_TEST(s.server.how_it_ends() == "end");
    BOOST_TEST(s.server.send(committed));  // is not reset by it
    BOOST_TEST(s.between.fired());
  }
}

BOOST_AUTO_TEST_CASE(cut_around_an_answer) {
  for (auto const action : {fault_action::cut_rst, fault_action::cut_fin})
    for (auto const when : {moment::before, moment::after}) {
      stage s;
      s.open();
      s.between.arm(at_commit(down, action, when));
      s.to_server(pg_query("commit"));
      BOOST_TEST(s.server.send(pg('N') + committed));
      auto const passed = pg('N') + (when == moment::after ? pg_done("COMMIT") : "");
      BOOST_TEST(s.client.receive(passed.size()) == passed);
      BOOST_TEST(s.client.how_it_ends() == (action == fault_action::cut_rst ? "reset" : "end"));
      BOOST_TEST(s.server.how_it_ends() == "end");
    }
}

BOOST_AUTO_TEST_CASE(an_answer_is_replaced) {
  std::string const words = pg('E', "SFATAL");
  for (auto const way : {up, down})
    for (auto const when : {moment::before, moment::after}) {
      stage s;
      s.open();
      auto plan = at_commit(way, fault_action::replace, when);
      plan.replacement = words;
      s.between.arm(plan);
      BOOST_TEST(s.client.send(pg_query("commit") + pg_query("later")));
      std::string reached;
      if (way == down) reached = pg_query("commit") + pg_query("later");
      if (way == up && when == moment::after) reached = pg_query("commit");
      BOOST_TEST(s.server.receive(reached.size()) == reached);
      BOOST_TEST(s.server.send(pg('N') + committed));
      std::string passed;
      if (way == down) passed = pg('N');
      if (way == down && when == moment::after) passed += pg_done("COMMIT");
      BOOST_TEST(s.client.receive(passed.size() + words.size()) == passed + words);
      BOOST_TEST(s.client.how_it_ends() == "end");
      BOOST_TEST(s.server.how_it_ends() == "end");
      BOOST_TEST(s.between.fired());
      BOOST_TEST(s.count(relay_action::replaced) == 1U);
    }
}

// The client could not read the one inside the other.
BOOST_AUTO_TEST_CASE(a_message_under_way_is_not_torn_by_a_replacement) {
  stage s;
  s.open();
  auto plan = at_commit(up, fault_action::replace, moment::before);
  plan.replacement = pg('E', "SFATAL");
  s.between.arm(plan);
  auto const row = pg('D', std::string(200'000, 'x'));
  auto const begun = row.substr(0, 150'000);
  BOOST_TEST(s.server.send(begun));
  BOOST_TEST(s.client.receive(65536) == begun.substr(0, 65536));
  BOOST_TEST(s.client.send(pg_query("commit")));
  BOOST_TEST(s.between.await_fired(10s));
  BOOST_TEST(s.count(relay_action::replaced) == 0U);
  s.between.disarm();
  BOOST_TEST(s.server.send(row.substr(begun.size()) + pg_ready()));
  auto const rest = row.substr(65536) + plan.replacement;
  BOOST_TEST((s.client.receive(rest.size()) == rest));
  BOOST_TEST(s.client.how_it_ends() == "end");
  BOOST_TEST(s.server.how_it_ends() == "end");
  BOOST_TEST(s.count(relay_action::replaced) == 1U);
}

BOOST_AUTO_TEST_CASE(a_black_hole_is_silent_until_it_is_released) {
  stage s;
  s.open();
  s.between.arm(at_commit(up, fault_action::swallow, moment::before));
  BOOST_TEST(s.client.send(pg_query("commit")));
  BOOST_TEST(s.between.await_fired(10s));
  BOOST_TEST(s.server.send(pg('N')));
  s.client.close();
  s.between.release();
  BOOST_TEST(s.server.how_it_ends() == "end");  // and none of what was swallowed
  BOOST_TEST(s.count(relay_action::dropped) >= 1U);
}

BOOST_AUTO_TEST_CASE(held_and_released) {
  stage s;
  s.open();
  s.between.arm(at_commit(up, fault_action::hold, moment::before));
  s.to_server(pg_query("insert"));
  BOOST_TEST(s.client.send(pg_query("commit")));
  BOOST_TEST(s.between.await_fired(10s));
  s.to_client(pg_done("INSERT 0 1") + pg_ready());  // the other direction goes on
  s.between.release();
  BOOST_TEST(s.server.receive(pg_query("commit").size()) == pg_query("commit"));
  s.to_client(committed);
  s.query("select 1", "SELECT 1");
}

BOOST_AUTO_TEST_CASE(a_held_commit_reaches_the_server_after_its_client_is_gone) {
  for (bool const reset : {false, true}) {
    stage s;
    s.open();
    s.between.arm(at_commit(up, fault_action::hold, moment::before));
    BOOST_TEST(s.client.send(pg_query("commit")));
    BOOST_TEST(s.between.await_fired(10s));
    reset ? s.client.reset() : s.client.close();
    BOOST_TEST(s.server.send(pg('N')));
    s.between.release();
    BOOST_TEST(s.server.receive(pg_query("commit").size()) == pg_query("commit"));
    BOOST_TEST(s.server.how_it_ends() == "end");
    BOOST_TEST(s.count(relay_action::held) == 1U);
    BOOST_TEST(s.count(relay_action::released) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_held_refusal_comes_later) {
  stage s;
  s.between.arm({.action = fault_action::hold});
  s.meet();
  BOOST_TEST(s.client.send(pg_packet(80877103)));
  BOOST_TEST(s.between.await_fired(10s));
  s.between.release();
  BOOST_TEST(s.client.receive(1) == "N");
  s.to_server(pg_startup());
}

BOOST_AUTO_TEST_CASE(a_delay_ends_by_itself) {
  stage s;
  s.open();
  s.between.arm({.way = down, .action = fault_action::delay, .when = moment::after, .delay = 50ms});
  s.to_server(pg_query("select 1"));
  auto const begin = std::chrono::steady_clock::now();
  s.to_client(pg_done("SELECT 1") + pg_ready());
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 50ms));
  BOOST_TEST(s.between.fired());
}

BOOST_AUTO_TEST_CASE(a_delay_that_was_released_does_not_end_a_later_hold) {
  stage s;
  s.open();
  s.between.arm({.action = fault_action::delay, .delay = 100ms});
  BOOST_TEST(s.client.send(pg_query("select 1")));
  BOOST_TEST(s.between.await_fired(10s));
  s.between.release();
  BOOST_TEST(s.server.receive(pg_query("select 1").size()) == pg_query("select 1"));
  s.between.arm(at_commit(up, fault_action::hold, moment::before));
  BOOST_TEST(s.client.send(pg_query("commit")));
  BOOST_TEST(s.between.await_fired(10s));
  BOOST_TEST(!s.server.readable(200ms));
  s.between.release();
  BOOST_TEST(s.server.receive(pg_query("commit").size()) == pg_query("commit"));
}

// What a caller does who wants to meet every fault of a run.
BOOST_AUTO_TEST_CASE(every_event_once_until_none_is_left) {
  for (auto const way : {up, down}) {
    std::size_t fired = 0;
    for (std::size_t i = 0; i < 100; ++i) {
      stage s;
      s.between.arm({.way = way, .action = fault_action::cut_fin, .index = i});
      s.meet();
      s.client.send(pg_startup());
      s.server.receive(pg_startup().size());
      s.server.send(pg_greeting());
      s.client.receive(pg_greeting().size());
      s.client.send(pg_query("commit"));
      s.server.receive(pg_query("commit").size());
      s.server.send(committed);
      auto const answer = s.client.receive(committed.size());
      BOOST_TEST((s.between.fired() || answer == committed));
      if (!s.between.fired()) break;
      BOOST_TEST(s.between.matched() == i + 1);
      ++fired;
    }
    BOOST_TEST(fired == (way == up ? 2U : 4U));
  }
}

BOOST_AUTO_TEST_CASE(only_the_chosen_connection) {
  stage s;
  s.between.arm({.action = fault_action::cut_fin, .matches = of_type('Q'), .connection = 1});
  s.open();
  s.query("select 1", "SELECT 1");
  auto const first = std::move(s.client);
  s.open();
  s.client.send(pg_query("select 1"));
  BOOST_TEST(s.client.how_it_ends() == "end");
  BOOST_TEST(s.between.fired());
  auto const log = s.between.log();
  auto const fault = std::ranges::find(log, relay_action::fault, &relay_event::action);
  BOOST_REQUIRE((fault != log.end()));
  BOOST_TEST((*fault == relay_event{.connection = 1,
                                    .action = relay_action::fault,
                                    .way = up,
                                    .index = 1,
                                    .type = 'Q',
                                    .bytes = pg_query("select 1").size()}));
}

BOOST_AUTO_TEST_CASE(a_fault_falls_once_and_others_connect) {
  stage s;
  s.open();
  s.between.arm(at_commit(up, fault_action::cut_rst, moment::before));
  s.client.send(pg_query("commit"));
  BOOST_TEST(s.client.how_it_ends() == "reset");
  s.open();
  s.query("commit", "COMMIT");
  s.between.disarm();
  BOOST_TEST(!s.between.fired());
}

BOOST_AUTO_TEST_CASE(down_refuses_and_up_takes_again) {
  stage s;
  s.open();
  auto plan = at_commit(up, fault_action::cut_rst, moment::before);
  plan.refuse_afterwards = true;
  s.between.arm(plan);
  s.client.send(pg_query("commit"));
  BOOST_TEST(s.client.how_it_ends() == "reset");
  BOOST_TEST(!wire_socket::connect(s.between.port()));
  BOOST_TEST(s.between.up().has_value());
  BOOST_TEST(s.between.up().has_value());
  s.open();
  s.between.down();
  BOOST_TEST(!wire_socket::connect(s.between.port()));
  s.query("select 1", "SELECT 1");  // open ones stay
}

BOOST_AUTO_TEST_SUITE_END()
