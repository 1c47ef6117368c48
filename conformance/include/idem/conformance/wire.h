// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

namespace idem::inline v1::conformance {

/// What a connection speaks. `segments`: nothing is known of it, each read is one message.
enum class wire_protocol : std::uint8_t { postgresql, segments };

/// Where a server listens whose wire the suite can read and cut.
struct wire_place {
  std::string host;
  std::uint16_t port = 0;
  wire_protocol protocol = wire_protocol::postgresql;
};

}  // namespace idem::inline v1::conformance
