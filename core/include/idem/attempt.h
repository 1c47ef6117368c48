// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace idem::inline v1 {

/// One try of one operation: 16 random bytes stored with the claim. It tells "my commit"
/// from another's when an answer was lost. Copyable; may be written down and given to
/// `store::resolve` from another process.
struct attempt_id {
  std::array<std::byte, 16> bytes{};

  /// A new one from the operating system's random source. Thread-safe.
  /// Throws std::runtime_error if that source fails: without it no promise can be kept.
  static attempt_id random();

  /// Reads 32 hexadecimal digits; nothing for any other text.
  static std::optional<attempt_id> parse(std::string_view hexadecimal);

  /// 32 lower-case hexadecimal digits.
  std::string to_string() const;

  friend bool operator==(attempt_id const&, attempt_id const&) = default;
};

}  // namespace idem::inline v1
