// SPDX-License-Identifier: BSL-1.0
#include "conformance/subjects/postgresql_handle.h"

#include <libpq-fe.h>

#include <charconv>
#include <string_view>

namespace idem::inline v1::conformance::detail {

std::optional<wire_place> listens_at(pg_conn* conn) {
  std::string_view const host = PQhost(conn);
  std::string_view const port = PQport(conn);
  wire_place place{.host = std::string(host), .port = 0, .protocol = wire_protocol::postgresql};
  auto const [end, problem] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  bool const number = problem == std::errc() && end == port.data() + port.size();
  if (host.empty() || host.starts_with('/') || !number) return std::nullopt;
  return place;
}

bool send_without_reading(pg_conn* conn) {
  return PQsendQuery(conn, "SELECT generate_series(1, 3)") == 1;
}

}  // namespace idem::inline v1::conformance::detail
