// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace idem::inline v1 {

/// One try of one operation: 127 random bits stored with the claim, and one that says how it was
/// sent. It tells "my commit" from another's when an answer was lost. Copyable; may be written down
/// and given to `store::resolve` from another process.
struct attempt_id {
  std::array<std::byte, 16> bytes{};

  /// A new one from the operating system's random source. Thread-safe.
  /// Throws std::runtime_error if that source fails: without it no promise can be kept.
  static attempt_id random(bool travels_whole = false);

  /// Its claim had COMMIT behind it in the same round trip (`store::run_fixed`). When the answer
  /// is lost all of it may still be on its way, so that another's claim does not prove that it
  /// will not arrive. Such an attempt is resolved by running the request again.
  bool travels_whole() const noexcept { return (bytes.back() & std::byte{1}) != std::byte{0}; }

  /// Reads 32 hexadecimal digits; nothing for any other text.
  static std::optional<attempt_id> parse(std::string_view hexadecimal);

  /// 32 lower-case hexadecimal digits.
  std::string to_string() const;

  friend bool operator==(attempt_id const&, attempt_id const&) = default;
};

}  // namespace idem::inline v1
