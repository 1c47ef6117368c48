// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/relay.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/relay_stage.h"

namespace {

using namespace idem::conformance;
using namespace idem_test;
using namespace std::chrono_literals;
using stage = relay_stage;

}  // namespace

BOOST_AUTO_TEST_SUITE(relay)

BOOST_AUTO_TEST_CASE(passes_everything_and_both_ends) {
  stage s;
  s.open();
  s.query("select 1", "SELECT 1");
  s.client.close();
  BOOST_TEST(s.server.how_it_ends() == "end");
  s.open();
  s.server.close();
  BOOST_TEST(s.client.how_it_ends() == "end");
  s.open();  // connected to the server, too: else it would be unreachable
  s.server.reset();
  BOOST_TEST(s.client.how_it_ends() == "reset");
  BOOST_TEST(!s.between.fired());
}

BOOST_AUTO_TEST_CASE(a_slow_receiver_holds_the_sender_back) {
  stage s(wire_protocol::segments);
  s.meet();
  std::string const block(1 << 20, 'x');
  std::size_t sent = 0;
  // Were the relay's memory not bounded, it would take all of this.
  constexpr std::size_t most = 256U << 20;
  auto const takes = [&] {
    auto const some = s.client.send_some(block);
    sent += some;
    return some > 0 || s.client.writable(200ms);
  };
  while (sent < most && takes()) continue;
  BOOST_TEST(sent > 0U);
  BOOST_TEST(sent < most);
  std::size_t received = 0;
  while (received < sent) {
    auto const part = s.server.receive(std::min(block.size(), sent - received)).size();
    if (part == 0) break;
    received += part;
  }
  BOOST_TEST(received == sent);
}

BOOST_AUTO_TEST_CASE(counts_messages_bytes_and_connections) {
  stage s;
  s.open();
  s.open();
  s.between.reset_counts();
  s.query("select 1", "SELECT 1");
  auto const all = s.between.counts();
  BOOST_TEST(all.to_server.messages.at('Q') == 1U);
  BOOST_TEST(all.to_server.total() == 1U);
  BOOST_TEST(all.to_server.bytes == pg_query("select 1").size());
  BOOST_TEST(all.to_client.messages.at('Z') == 1U);
  BOOST_TEST(all.to_client.total() == 2U);
  BOOST_TEST(all.round_trips == 1U);
  BOOST_TEST(all.connections == 0U);
  BOOST_TEST(s.between.counts(0).to_server.total() == 0U);
  BOOST_TEST(s.between.counts(1).to_server.total() == 1U);
  BOOST_TEST(s.between.accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(round_trips_are_what_the_client_waits_for) {
  stage s;
  s.open();
  BOOST_TEST(s.between.counts().round_trips == 0U);
  s.query("select 1", "SELECT 1");
  s.query("select 1", "SELECT 1");
  BOOST_TEST(s.between.counts().round_trips == 2U);

  s.between.reset_counts();
  auto const two =
      pg_parse("", "a") + pg_bind("", "") + pg_execute() + pg_bind("", "") + pg_execute() + pg('S');
  auto const two_done = pg('1') + pg('2') + pg_done("A") + pg('2') + pg_done("A") + pg_ready();
  s.to_server(two);
  s.to_client(two_done);
  BOOST_TEST(s.between.counts().round_trips == 1U);
  s.to_server(two + two);  // two Syncs in one flush
  s.to_client(two_done);
  s.to_client(two_done);
  BOOST_TEST(s.between.counts().round_trips == 2U);
  s.to_server(pg_bind("", "") + pg_execute() + pg('H'));
  s.to_client(pg('2') + pg_done("A"));
  s.to_server(pg('S'));
  s.to_client(pg_ready());
  BOOST_TEST(s.between.counts().round_trips == 4U);
  s.to_server(pg('X'));
  BOOST_TEST(s.between.counts().round_trips == 4U);
}

BOOST_AUTO_TEST_CASE(sent_before_the_answer_was_read_is_the_same_round_trip) {
  stage s;
  s.open();
  s.to_server(pg_query("select 1"));
  s.to_server(pg_query("select 2"));  // has arrived before any answer was given
  s.to_client(pg_done("SELECT 1") + pg_ready());
  s.to_client(pg_done("SELECT 1") + pg_ready());
  BOOST_TEST(s.between.counts().round_trips == 1U);
}

// The same, but the relay has not read it yet when it hands the answer on.
BOOST_AUTO_TEST_CASE(sent_while_the_answer_is_handed_on_is_the_same_round_trip) {
  stage s;
  s.open();
  auto const second = pg_query("select 2");
  bool sent = false;
  s.between.arm({.way = down, .matches = [&](message const& m) {
                   if (m.type == 'Z' && !sent) sent = s.client.send(second) && s.client.delivered();
                   return false;
                 }});
  s.query("select 1", "SELECT 1");
  BOOST_TEST(s.server.receive(second.size()) == second);
  s.to_client(pg_done("SELECT 1") + pg_ready());
  BOOST_TEST(sent);
  BOOST_TEST(s.between.counts().round_trips == 1U);
  s.query("select 3", "SELECT 1");
  BOOST_TEST(s.between.counts().round_trips == 2U);
}

BOOST_AUTO_TEST_CASE(encryption_is_refused) {
  stage s;
  s.meet();
  for (auto const code : {80877104U, 80877103U}) {
    BOOST_TEST(s.client.send(pg_packet(code)));
    BOOST_TEST(s.client.receive(1) == "N");
  }
  s.to_server(pg_startup());
  s.to_client(pg_greeting());
  BOOST_TEST(s.count(relay_action::refused) == 2U);
}

BOOST_AUTO_TEST_CASE(an_unreachable_server_resets_the_client) {
  stage s;
  s.listener.close();
  s.client = wire_socket::connect(s.between.port());
  BOOST_TEST(s.client.how_it_ends() == "reset");
  BOOST_TEST(s.count(relay_action::unreachable) == 1U);
}

// It has two addresses on most systems, and the server listens on one.
BOOST_AUTO_TEST_CASE(tries_every_address_of_the_host) {
  wire_listener listener;
  auto const made = idem::conformance::relay::start({.host = "localhost", .port = listener.port()});
  BOOST_REQUIRE(made);
  auto client = wire_socket::connect(made->port());
  BOOST_REQUIRE(listener.accept());
}

BOOST_AUTO_TEST_CASE(an_unknown_host_is_an_error) {
  auto const made = idem::conformance::relay::start({.host = std::string(300, 'a'), .port = 1});
  BOOST_REQUIRE(!made);
  BOOST_TEST((made.error().what == idem::errc::configuration));
}

BOOST_AUTO_TEST_CASE(ends_with_what_is_held) {
  std::optional<stage> s(std::in_place);
  s->open();
  s->between.arm(at_commit(up, fault_action::hold, moment::before));
  s->client.send(pg_query("commit"));
  BOOST_TEST(s->between.await_fired(10s));
  auto server = std::move(s->server);
  s.reset();
  auto const ended = server.how_it_ends();
  BOOST_TEST((ended == "end" || ended == "reset"));
}

BOOST_AUTO_TEST_CASE(many_threads_at_once) {
  stage s(wire_protocol::segments);
  std::jthread const echo([&] {
    for (int i = 0; i < 20; ++i) {
      auto peer = s.listener.accept();
      peer.send(peer.receive(4));
    }
  });
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> clients;
    for (int t = 0; t < 4; ++t)
      clients.emplace_back([&] {
        for (int i = 0; i < 5; ++i) {
          auto client = wire_socket::connect(s.between.port());
          client.send("ping");
          if (client.receive(4) == "ping") ++answered;
          s.between.arm({.index = 1000});
          s.between.counts();
          s.between.log();
          s.between.release();
        }
      });
  }
  BOOST_TEST(answered == 20);
  BOOST_TEST(s.between.counts().connections == 20U);
}

BOOST_AUTO_TEST_SUITE_END()
