// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>

namespace idem::inline v1::conformance {

/// Whether the first, or the last, of these statements commits. A semicolon inside a literal is
/// taken for an end of statement.
bool first_commits(std::string_view statements) noexcept;
bool last_commits(std::string_view statements) noexcept;

}  // namespace idem::inline v1::conformance
