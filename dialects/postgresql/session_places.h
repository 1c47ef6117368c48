// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace idem::inline v1::postgresql::detail {

/// One server to ask: what libpq is told of it. Empty: as the connection string has it.
struct server_place {
  std::string host, address, port;
  std::string session_attrs;
  friend bool operator==(server_place const&, server_place const&) = default;
};

/// The value of an option that was written down; else empty.
std::string_view option(PQconninfoOption const*, std::string_view keyword);

/// The servers in the order in which they are to be asked: of a list of hosts one after the other,
/// in random order where `load_balance_hosts` says so, all of them twice for `prefer-standby`.
/// One that stands for all where libpq has to judge the list. Never empty.
std::vector<server_place> server_places(PQconninfoOption const*);

/// As libpq reads it, for one host: at least two seconds; 30 where there is none.
std::chrono::seconds connect_timeout(std::string_view text);

}  // namespace idem::inline v1::postgresql::detail
