// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace idem_test {

/// One end of a TCP connection on 127.0.0.1. Every wait ends after ten seconds with what there
/// is, so that a fault of what is tested fails the test instead of stopping it.
class wire_socket {
 public:
  explicit wire_socket(int descriptor = -1) : descriptor_(descriptor) {}
  wire_socket(wire_socket&& other) noexcept;
  wire_socket& operator=(wire_socket&&) noexcept;
  ~wire_socket();

  /// No connection if it was refused.
  static wire_socket connect(std::uint16_t port);
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

  /// False if the other side takes nothing any more.
  bool send(std::string_view bytes);
  /// Waits until what was sent has arrived in the other side's buffer.
  bool delivered() const;
  /// Sends as much as fits, without waiting; the number of bytes.
  std::size_t send_some(std::string_view bytes);
  /// Whether it can send, or has something to read, within this time.
  bool writable(std::chrono::milliseconds patience) const;
  bool readable(std::chrono::milliseconds patience) const;
  std::string receive(std::size_t bytes);
  /// Waits for the end: "end", "reset", "bytes" if more comes first, "nothing" if nothing does.
  std::string how_it_ends();
  void close();
  void reset();

 private:
  friend class wire_listener;
  bool await(short events, int milliseconds = 10000) const;
  int descriptor_;
};

/// A port of 127.0.0.1 that the system chose, for a server that a test plays.
class wire_listener {
 public:
  wire_listener();
  std::uint16_t port() const noexcept { return port_; }
  wire_socket accept();
  void close() { socket_.close(); }

 private:
  wire_socket socket_;
  std::uint16_t port_ = 0;
};

// PostgreSQL's messages.
std::string pg(char type, std::string_view body = {});
std::string pg_packet(std::uint32_t code, std::string_view body = {});
std::string pg_startup();
std::string pg_query(std::string_view statement);
std::string pg_parse(std::string_view name, std::string_view statement);
std::string pg_bind(std::string_view portal, std::string_view name);
std::string pg_execute(std::string_view portal = {});
std::string pg_done(std::string_view tag);
std::string pg_ready(char status = 'I');
/// What the server answers to a start-up without a password.
std::string pg_greeting();

}  // namespace idem_test
