// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace idem::inline v1::conformance {

/// What one scenario came to. Trouble rises: the worst child decides.
enum class verdict : std::uint8_t {
  pass,
  known_fail,     ///< fails as declared, for the declared reason
  unsupported,    ///< the engine cannot show the phenomenon, and a probe proved it
  indeterminate,  ///< the server's facts changed while it ran
  vacuous,        ///< green, but something that had to be seen was not: proves nothing
  fail,
  error,  ///< the suite itself could not run it
};

constexpr verdict worst(verdict a, verdict b) noexcept { return a < b ? b : a; }

std::string_view to_string(verdict) noexcept;
std::optional<verdict> parse_verdict(std::string_view) noexcept;

/// 0 pass (nothing worse than unsupported), 1 fail, 2 vacuous or indeterminate, 3 could not run.
int exit_code(verdict) noexcept;

}  // namespace idem::inline v1::conformance
