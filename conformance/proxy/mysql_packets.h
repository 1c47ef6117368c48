// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html
// https://mariadb.com/docs/server/reference/clientserver-protocol/0-packet
namespace idem::inline v1::conformance {

inline constexpr std::size_t mysql_header_bytes = 4;
/// The payload of a packet of this length goes on in the next one.
inline constexpr std::size_t most_mysql_payload = 0xffffff;

/// The first byte of an answer. In a row of the text protocol they are lengths that no row begins
/// with:
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_response_packets.html
namespace mysql_header {
inline constexpr unsigned char ok = 0x00;
inline constexpr unsigned char local_infile = 0xfb;
inline constexpr unsigned char eof = 0xfe;
inline constexpr unsigned char err = 0xff;
}  // namespace mysql_header

/// https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html
namespace mysql_capability {
inline constexpr std::uint32_t compress = 1U << 5;
inline constexpr std::uint32_t ssl = 1U << 11;
inline constexpr std::uint32_t deprecate_eof = 1U << 24;
inline constexpr std::uint32_t optional_metadata = 1U << 25;
inline constexpr std::uint32_t zstd = 1U << 26;
}  // namespace mysql_capability

/// Little-endian, of so many bytes; what is not there is zero.
std::uint64_t mysql_number(std::string_view bytes, std::size_t place, std::size_t count) noexcept;

std::string mysql_packet(unsigned char sequence, std::string_view payload);
/// An ERR packet.
/// https://mariadb.com/kb/en/err_packet/
std::string mysql_error(unsigned char sequence, std::uint16_t code, std::string_view sqlstate,
                        std::string_view text);

}  // namespace idem::inline v1::conformance
