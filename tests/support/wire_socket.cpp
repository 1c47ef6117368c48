// SPDX-License-Identifier: BSL-1.0
#include "tests/support/wire_socket.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace idem_test {

namespace {

using namespace std::string_literals;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int check(int result, char const* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string text(std::string_view value) { return std::string(value) + '\0'; }

}  // namespace

wire_socket::wire_socket(wire_socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

wire_socket& wire_socket::operator=(wire_socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

wire_socket::~wire_socket() { close(); }

wire_socket wire_socket::connect(std::uint16_t port) {
  wire_socket made(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  auto const address = loopback(port);
  if (::connect(made.descriptor_, reinterpret_cast<sockaddr const*>(&address), sizeof address) < 0)
    made.close();
  return made;
}

bool wire_socket::await(short events, int milliseconds) const {
  pollfd waited{.fd = descriptor_, .events = events, .revents = 0};
  return ::poll(&waited, 1, milliseconds) > 0;
}

bool wire_socket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    auto const sent = send_some(bytes);
    bytes.remove_prefix(sent);
    if (sent == 0 && (errno != EAGAIN || !await(POLLOUT))) return false;
  }
  return true;
}

// The system tells how much is not yet acknowledged, but nothing wakes one when it is.
bool wire_socket::delivered() const {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int unacknowledged = 1;
  while (unacknowledged > 0 && std::chrono::steady_clock::now() < end) {
    if (::ioctl(descriptor_, SIOCOUTQ, &unacknowledged) < 0) return false;
    std::this_thread::yield();
  }
  return unacknowledged == 0;
}

std::size_t wire_socket::send_some(std::string_view bytes) {
  auto const sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

bool wire_socket::writable(std::chrono::milliseconds patience) const {
  return await(POLLOUT, static_cast<int>(patience.count()));
}

bool wire_socket::readable(std::chrono::milliseconds patience) const {
  return await(POLLIN, static_cast<int>(patience.count()));
}

std::string wire_socket::receive(std::size_t bytes) {
  std::string all;
  while (all.size() < bytes && await(POLLIN)) {
    std::string part(bytes - all.size(), '\0');
    auto const count = ::recv(descriptor_, part.data(), part.size(), 0);
    if (count <= 0) break;
    all += part.substr(0, static_cast<std::size_t>(count));
  }
  return all;
}

std::string wire_socket::how_it_ends() {
  if (!await(POLLIN)) return "nothing";
  char byte = 0;
  auto const count = ::recv(descriptor_, &byte, 1, 0);
  if (count > 0) return "bytes";
  return count == 0 ? "end" : errno == ECONNRESET ? "reset" : "error";
}

void wire_socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void wire_socket::reset() {
  linger const at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

wire_listener::wire_listener()
    : socket_(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
  auto address = loopback(0);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  check(::bind(socket_.descriptor_, generic, length), "bind");
  check(::listen(socket_.descriptor_, 16), "listen");
  check(::getsockname(socket_.descriptor_, generic, &length), "getsockname");
  port_ = ntohs(address.sin_port);
}

wire_socket wire_listener::accept() {
  if (!socket_.await(POLLIN)) return wire_socket();
  return wire_socket(::accept4(socket_.descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
}

std::string pg(char type, std::string_view body) {
  return type + number(static_cast<std::uint32_t>(body.size() + 4)) + std::string(body);
}

std::string pg_packet(std::uint32_t code, std::string_view body) {
  return number(static_cast<std::uint32_t>(body.size() + 8)) + number(code) + std::string(body);
}

std::string pg_startup() { return pg_packet(196608, "user\0u\0\0"s); }
std::string pg_query(std::string_view statement) { return pg('Q', text(statement)); }
std::string pg_parse(std::string_view name, std::string_view statement) {
  return pg('P', text(name) + text(statement) + "\0\0"s);
}
std::string pg_bind(std::string_view portal, std::string_view name) {
  return pg('B', text(portal) + text(name) + "\0\0\0\0\0\0"s);
}
std::string pg_execute(std::string_view portal) { return pg('E', text(portal) + "\0\0\0\0"s); }
std::string pg_done(std::string_view tag) { return pg('C', text(tag)); }
std::string pg_ready(char status) { return pg('Z', std::string(1, status)); }
std::string pg_greeting() { return pg('R', std::string(4, '\0')) + pg_ready(); }

}  // namespace idem_test
