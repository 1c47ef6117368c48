// SPDX-License-Identifier: BSL-1.0
// The one header with Boost.Asio; only the sources of this folder include it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/proxy/journal.h"

namespace idem::inline v1::conformance {

/// What a connection needs of the relay that made it, which outlives it.
struct connection_owner {
  journal& notes;
  std::function<void()> fault_falls;  // before anybody can notice it
  std::function<void()> fault_fell;
  std::function<void(std::size_t)> over;
};

/// A client's connection and the one to the server. Lives on the relay's thread; its handlers
/// keep it alive. Each direction is written as fast as it is read: while something is still to
/// be written or is held, no more is read.
class connection : public std::enable_shared_from_this<connection> {
 public:
  using tcp = boost::asio::ip::tcp;

  connection(std::size_t number, wire_protocol, tcp::socket client, connection_owner&);
  /// The first of these that takes the connection.
  void open(std::vector<tcp::endpoint> const& targets);
  void release();
  void close();

 private:
  enum class flow : std::uint8_t { passes, held, dropped };
  struct half {
    half(direction w, tcp::socket& from, tcp::socket& to) : way(w), source(from), sink(to) {}
    direction way;
    tcp::socket& source;
    tcp::socket& sink;
    std::string out;           // to be written
    std::string kept;          // held back
    std::string kept_refusal;  // the answer to a request for encryption that is held back
    relay_event last;          // the message that came last
    std::size_t seen = 0;      // messages
    std::size_t releases = 0;  // how often what was held went on
    flow state = flow::passes;
    bool strikes_at_end = false;   // the fault falls when the message under way has passed
    bool unfinished = false;       // the message that came last is under way
    bool replaces_at_end = false;  // when it has passed, the replacement follows
    bool reading = false;
    bool writing = false;
    bool source_over = false;
    bool sink_over = false;
    bool ends_sink = false;  // when all is written
  };

  half& other(half const& h) { return h.way == direction::to_server ? down_ : up_; }
  void read_on(half&);
  void readable(half&);
  void source_ended(half&, bool reset);
  void take(half&, piece const&);
  void begin(half&, message const&);
  void strike(half&);
  void cut(direction, bool reset);
  void replace();
  void hold_for(half&, std::chrono::milliseconds);
  void let_go(half&);
  void flush(half&);
  void write_out(half&);
  void sink_lost(half&);
  void end_sink(half&);
  void end_client();
  void look_whether_over();
  void note(half const&, relay_action);
  void note(relay_action);

  std::size_t number_;
  connection_owner& owner_;
  tcp::socket client_;
  tcp::socket server_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<message_reader> reader_;
  half up_;    // to the server
  half down_;  // to the client
  std::string replacement_;
  bool in_round_trip_ = false;
  bool reset_client_ = false;
  bool swallowed_ = false;
  bool over_ = false;
};

}  // namespace idem::inline v1::conformance
