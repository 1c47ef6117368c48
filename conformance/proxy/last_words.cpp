// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/last_words.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "conformance/proxy/mysql_packets.h"

namespace idem::inline v1::conformance {

namespace {

std::string error_response(std::string_view fields) {
  auto const length = static_cast<std::uint32_t>(fields.size() + 4);
  std::string message("E");
  for (int shift = 24; shift >= 0; shift -= 8)
    message += static_cast<char>(static_cast<unsigned char>(length >> shift));
  message += fields;
  return message;
}

std::string field(char code, std::string_view value) {
  std::string f(1, code);
  f += value;
  f += '\0';
  return f;
}

// The fields: https://www.postgresql.org/docs/current/protocol-error-fields.html
last_words fatal(std::string whose, std::string sqlstate, std::string_view text, bool by_server) {
  std::string fields = field('S', "FATAL");
  if (by_server) fields += field('V', "FATAL");
  fields += field('C', sqlstate);
  fields += field('M', text);
  fields += '\0';
  return {std::move(whose), std::move(sqlstate), error_response(fields)};
}

std::vector<last_words> in_mysql() {
  // The codes: https://dev.mysql.com/doc/mysql-errors/8.4/en/client-error-reference.html and
  // https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
  return {
      {"a proxy's 2013", "HY000",
       mysql_error(1, 2013, "HY000", "Lost connection to MySQL server during query")},
      {"a server's 1053", "08S01", mysql_error(1, 1053, "08S01", "Server shutdown in progress")}};
}

std::vector<last_words> in_postgresql() {
  // PgBouncer gives severity, code and text and not the severity that no language translates:
  // send_pooler_error in https://github.com/pgbouncer/pgbouncer/blob/master/src/proto.c
  return {fatal("a pooler's 08P01", "08P01", "server conn crashed?", false),
          fatal("a pooler's 57P01", "57P01", "the connection is closed", false),
          fatal("a server's 57P01", "57P01", "terminating connection due to administrator command",
                true)};
}

}  // namespace

std::vector<last_words> last_words_in(wire_protocol protocol) {
  switch (protocol) {
    case wire_protocol::postgresql:
      return in_postgresql();
    case wire_protocol::mysql:
      return in_mysql();
    case wire_protocol::segments:
      break;
  }
  return {};
}

}  // namespace idem::inline v1::conformance
