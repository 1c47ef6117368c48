// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/mysql_packets.h"

namespace idem::inline v1::conformance {

namespace {

void append_number(std::string& to, std::size_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    to += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

}  // namespace

std::uint64_t mysql_number(std::string_view bytes, std::size_t place, std::size_t count) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count && place + i < bytes.size(); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[place + i])} << (8 * i);
  return value;
}

std::string mysql_packet(unsigned char sequence, std::string_view payload) {
  std::string packet;
  append_number(packet, payload.size(), 3);
  packet += static_cast<char>(sequence);
  packet += payload;
  return packet;
}

std::string mysql_error(unsigned char sequence, std::uint16_t code, std::string_view sqlstate,
                        std::string_view text) {
  std::string payload(1, static_cast<char>(mysql_header::err));
  append_number(payload, code, 2);
  payload += '#';
  payload += sqlstate;
  payload += text;
  return mysql_packet(sequence, payload);
}

}  // namespace idem::inline v1::conformance
