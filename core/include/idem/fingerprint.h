// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <idem/error.h>

namespace idem::inline v1 {

/// A version of the rule that turns a request into 32 bytes. Stored with every record.
using fingerprint_version = std::uint16_t;

/// The rule that new records are written under unless the caller says otherwise.
inline constexpr fingerprint_version current_fingerprint_version = 1;

/// A second known rule, the same canonical form under another tag. Nothing is written under
/// it unless asked for: it exists so that a change of rule, readers first, can be rehearsed
/// and is proved by the suite before a version 2 is ever needed.
inline constexpr fingerprint_version rehearsal_fingerprint_version = 65535;

bool is_known(fingerprint_version) noexcept;

/// SHA-256 over maker, version, left-out members and the canonical request.
struct fingerprint {
  fingerprint_version version = current_fingerprint_version;
  std::array<std::byte, 32> digest{};
  friend bool operator==(fingerprint const&, fingerprint const&) = default;
};

/// Bounds beyond which a JSON request is refused, checked before memory is spent.
struct json_limits {
  std::size_t max_bytes = std::size_t{16} << 20;
  std::size_t max_depth = 128;
  std::size_t max_number_digits = 1024;  ///< significant digits as written
  std::int64_t max_exponent = 65536;     ///< magnitude of a number's scientific exponent
  friend bool operator==(json_limits const&, json_limits const&) = default;
};

struct json_options {
  /// Members left out of the fingerprint (a timestamp, a trace id), as JSON Pointers
  /// (RFC 6901). The list is part of the operation's contract: the digest covers it.
  std::vector<std::string> left_out;
  json_limits limits;
  friend bool operator==(json_options const&, json_options const&) = default;
};

/// Raw bytes in a typed field.
struct field_bytes {
  std::string value;
  friend bool operator==(field_bytes const&, field_bytes const&) = default;
};

/// A field's value. Text (std::string) must be UTF-8; the types are told apart, so 1, "1"
/// and true are three requests. There is no floating-point type: pass money in units.
using field_value = std::variant<std::monostate, bool, std::int64_t, std::string, field_bytes>;

struct field {
  std::string name;
  field_value value;
  friend bool operator==(field const&, field const&) = default;
};

}  // namespace idem::inline v1
