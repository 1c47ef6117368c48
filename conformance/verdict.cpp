// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/verdict.h>

#include <array>

namespace idem::inline v1::conformance {

namespace {
constexpr std::array<std::string_view, 7> names{
    "PASS", "KNOWN-FAIL", "UNSUPPORTED", "INDETERMINATE", "VACUOUS", "FAIL", "ERROR"};
}

std::string_view to_string(verdict v) noexcept { return names[static_cast<std::size_t>(v)]; }

std::optional<verdict> parse_verdict(std::string_view text) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<verdict>(i);
  return std::nullopt;
}

int exit_code(verdict v) noexcept {
  switch (v) {
    case verdict::pass:
    case verdict::known_fail:
    case verdict::unsupported:
      return 0;
    case verdict::fail:
      return 1;
    case verdict::indeterminate:
    case verdict::vacuous:
      return 2;
    case verdict::error:
      break;
  }
  return 3;
}

}  // namespace idem::inline v1::conformance
