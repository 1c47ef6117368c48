// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/connection.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <utility>

namespace idem::inline v1::conformance {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t read_bytes = 65536;

bool must_wait(error_code const& failed) {
  return failed == asio::error::would_block || failed == asio::error::try_again;
}

void prepare(asio::ip::tcp::socket& socket) {
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

}  // namespace

connection::connection(std::size_t number, wire_protocol protocol, tcp::socket client,
                       connection_owner& owner)
    : number_(number),
      owner_(owner),
      client_(std::move(client)),
      server_(client_.get_executor()),
      timer_(client_.get_executor()),
      reader_(make_message_reader(protocol)),
      up_(direction::to_server, client_, server_),
      down_(direction::to_client, server_, client_) {
  prepare(client_);
  note(relay_action::accepted);
}

void connection::open(std::vector<tcp::endpoint> const& targets) {
  auto const connected = [this, self = shared_from_this()](error_code failed, auto const&) {
    if (over_) {
      server_.close(failed);  // one of several attempts may have opened it again
      return;
    }
    if (failed) {
      note(relay_action::unreachable);
      reset_client_ = true;
      end_client();
      close();
      return;
    }
    prepare(server_);
    read_on(up_);
    read_on(down_);
  };
  asio::async_connect(server_, targets, connected);
}

void connection::release() {
  if (over_) return;
  if (swallowed_) cut(direction::to_server, false);
  for (half* h : {&up_, &down_})
    if (h->state == flow::held) let_go(*h);
}

void connection::close() {
  if (std::exchange(over_, true)) return;
  error_code ignored;
  timer_.cancel(ignored);
  client_.close(ignored);
  server_.close(ignored);
  note(relay_action::over);
  owner_.over(number_);
}

// --- reading ---------------------------------------------------------------------------------

// Waits first and reads then: no byte is ever on its way inside Asio, and `available` tells
// whether the client has sent more.
void connection::read_on(half& h) {
  if (over_ || h.reading || h.source_over || h.state == flow::held || !h.out.empty()) return;
  h.reading = true;
  h.source.async_wait(tcp::socket::wait_read,
                      [this, &h, self = shared_from_this()](error_code const& failed) {
                        h.reading = false;
                        if (!over_ && !failed) readable(h);
                      });
}

void connection::readable(half& h) {
  if (h.source_over || h.state == flow::held || !h.out.empty()) return;
  std::array<char, read_bytes> buffer;
  error_code failed;
  auto const count = h.source.read_some(asio::buffer(buffer), failed);
  if (failed && !must_wait(failed)) {
    source_ended(h, failed == asio::error::connection_reset);
  } else if (count > 0) {
    owner_.notes.count_bytes(number_, h.way, count);
    reader_->feed(h.way, {buffer.data(), count}, [&](piece const& p) { take(h, p); });
  }
  flush(h);
}

void connection::source_ended(half& h, bool reset) {
  h.source_over = true;
  if (reset && h.way == direction::to_client) reset_client_ = true;
  reader_->finish(h.way, [&](piece const& p) { take(h, p); });
  note(h, relay_action::source_end);
}

void connection::take(half& h, piece const& p) {
  if (p.begins) begin(h, *p.begins);
  if (h.state == flow::dropped) return;
  bool const held = h.state == flow::held;
  if (p.refusal.empty()) {
    (held ? h.kept : h.out) += p.bytes;
  } else {
    auto& back = other(h);
    (held ? h.kept_refusal : back.out) += p.refusal;
    if (!held) flush(back);
  }
  if (p.closes && !held) return cut(direction::to_client, false);
  h.unfinished = !p.ends;
  if (p.ends && std::exchange(h.strikes_at_end, false)) strike(h);
  if (p.ends && std::exchange(h.replaces_at_end, false)) replace();
}

void connection::begin(half& h, message const& m) {
  auto& notes = owner_.notes;
  notes.count_message(number_, m);
  if (m.way == direction::to_server && m.operation && !std::exchange(in_round_trip_, true))
    notes.count_round_trip(number_);
  h.last.index = h.seen++;
  h.last.type = m.type;
  h.last.bytes = m.bytes;
  h.last.commits = is_commit(m);
  if (h.state == flow::passes && notes.strikes(number_, m)) {
    if (notes.plan().when == moment::before) {
      strike(h);
    } else {
      h.strikes_at_end = true;
    }
  }
  auto const action = h.state == flow::held      ? relay_action::held
                      : h.state == flow::dropped ? relay_action::dropped
                      : m.type == message_type::ssl_request || m.type == message_type::gss_request
                          ? relay_action::refused
                          : relay_action::passed;
  note(h, action);
}

// --- faults ----------------------------------------------------------------------------------

void connection::strike(half& h) {
  auto const& plan = owner_.notes.plan();
  note(h, relay_action::fault);
  owner_.fault_falls();
  switch (plan.action) {
    case fault_action::cut_rst:
    case fault_action::cut_fin:
      cut(h.way, plan.action == fault_action::cut_rst);
      break;
    case fault_action::replace:
      replacement_ = plan.replacement;
      replace();
      break;
    case fault_action::swallow:
      swallowed_ = true;
      up_.state = down_.state = flow::dropped;
      break;
    case fault_action::hold:
      h.state = flow::held;
      break;
    case fault_action::delay:
      hold_for(h, plan.delay);
      break;
  }
  owner_.fault_fell();
}

// The server is never reset: what had passed is delivered to it, then the end.
void connection::cut(direction way, bool reset) {
  swallowed_ = false;
  up_.state = down_.state = flow::dropped;
  up_.ends_sink = down_.ends_sink = true;
  reset_client_ = reset;
  if (way == direction::to_server) {
    // No answer that is still here goes out, and a client that does not read is cut all the same.
    down_.out.clear();
    end_sink(down_);
  }
  flush(down_);
  flush(up_);
}

// Nothing goes inside a message: the client could not read it.
void connection::replace() {
  up_.state = flow::dropped;
  down_.replaces_at_end = down_.unfinished;
  if (down_.unfinished) return;
  down_.out += replacement_;
  owner_.notes.note({.connection = number_,
                     .action = relay_action::replaced,
                     .way = direction::to_client,
                     .bytes = replacement_.size()});
  cut(direction::to_client, false);
}

void connection::hold_for(half& h, std::chrono::milliseconds delay) {
  h.state = flow::held;
  timer_.expires_after(delay);
  timer_.async_wait([this, &h, before = h.releases, self = shared_from_this()](auto const& failed) {
    bool const still = h.state == flow::held && h.releases == before;
    if (!failed && !over_ && still) let_go(h);
  });
}

void connection::let_go(half& h) {
  h.state = flow::passes;
  ++h.releases;
  h.out += std::exchange(h.kept, {});
  note(h, relay_action::released);
  if (!h.kept_refusal.empty()) {
    other(h).out += std::exchange(h.kept_refusal, {});
    flush(other(h));
  }
  flush(h);
}

// --- writing ---------------------------------------------------------------------------------

void connection::flush(half& h) {
  if (over_ || h.writing) return;
  write_out(h);
  if (!h.out.empty()) return;
  if (h.source_over && h.state == flow::passes) h.ends_sink = true;
  if (h.ends_sink) end_sink(h);
  look_whether_over();
  read_on(h);
}

void connection::write_out(half& h) {
  while (!h.out.empty() && !h.sink_over) {
    // What the client has sent by now it sent without reading what is written next.
    error_code unknown;
    bool const waits = h.way == direction::to_client && client_.available(unknown) == 0 && !unknown;
    error_code failed;
    auto const count = h.sink.write_some(asio::buffer(h.out), failed);
    if (must_wait(failed)) {
      h.writing = true;
      h.sink.async_wait(tcp::socket::wait_write, [this, &h, self = shared_from_this()](auto) {
        h.writing = false;
        flush(h);
      });
      return;
    }
    if (failed) sink_lost(h);
    h.out.erase(0, count);
    if (waits && h.out.empty() && reader_->settled()) in_round_trip_ = false;
  }
  if (h.sink_over) h.out.clear();
}

// The receiver is gone. The sender is still read to its end, so that it is never reset and its
// own last words are known.
void connection::sink_lost(half& h) {
  h.sink_over = true;
  note(h, relay_action::sink_lost);
}

void connection::end_sink(half& h) {
  if (std::exchange(h.sink_over, true)) return;
  if (h.way == direction::to_client) return end_client();
  error_code ignored;
  h.sink.shutdown(tcp::socket::shutdown_send, ignored);
}

void connection::end_client() {
  error_code ignored;
  down_.sink_over = true;
  if (reset_client_) {
    client_.set_option(asio::socket_base::linger(true, 0), ignored);
    client_.close(ignored);
    up_.source_over = true;
  } else {
    client_.shutdown(tcp::socket::shutdown_send, ignored);
  }
}

void connection::look_whether_over() {
  if (up_.source_over && up_.sink_over && down_.source_over && down_.sink_over) close();
}

void connection::note(half const& h, relay_action action) {
  auto event = h.last;
  event.connection = number_;
  event.way = h.way;
  event.action = action;
  owner_.notes.note(event);
}

void connection::note(relay_action action) {
  owner_.notes.note({.connection = number_, .action = action});
}

}  // namespace idem::inline v1::conformance
