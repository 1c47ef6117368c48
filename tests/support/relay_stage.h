// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "conformance/proxy/relay.h"
#include "tests/support/wire_socket.h"

namespace idem_test {

namespace proxy = idem::conformance;
inline constexpr auto up = proxy::direction::to_server;
inline constexpr auto down = proxy::direction::to_client;

/// A client and a server that the test plays, with the relay between them.
struct relay_stage {
  explicit relay_stage(proxy::wire_protocol protocol = proxy::wire_protocol::postgresql)
      : between(started(listener.port(), protocol)) {}

  static proxy::relay started(std::uint16_t port, proxy::wire_protocol protocol) {
    auto made = proxy::relay::start({.host = "127.0.0.1", .port = port, .protocol = protocol});
    BOOST_REQUIRE(made);
    return std::move(*made);
  }

  void meet() {
    client = wire_socket::connect(between.port());
    BOOST_REQUIRE(client);
    server = listener.accept();
    BOOST_REQUIRE(server);
  }
  /// A session that waits for its first operation.
  void open() {
    meet();
    to_server(pg_startup());
    to_client(pg_greeting());
  }
  void to_server(std::string const& bytes) {
    BOOST_TEST(client.send(bytes));
    BOOST_TEST(server.receive(bytes.size()) == bytes);
  }
  void to_client(std::string const& bytes) {
    BOOST_TEST(server.send(bytes));
    BOOST_TEST(client.receive(bytes.size()) == bytes);
  }
  void query(std::string const& statement, std::string const& tag) {
    to_server(pg_query(statement));
    to_client(pg_done(tag) + pg_ready());
  }

  std::size_t count(proxy::relay_action action) {
    auto const log = between.log();
    return static_cast<std::size_t>(std::ranges::count(log, action, &proxy::relay_event::action));
  }

  wire_listener listener;
  proxy::relay between;
  wire_socket client;
  wire_socket server;
};

inline proxy::fault_plan at_commit(proxy::direction way, proxy::fault_action action,
                                   proxy::moment when) {
  return {.way = way, .action = action, .when = when, .matches = proxy::is_commit};
}

}  // namespace idem_test
