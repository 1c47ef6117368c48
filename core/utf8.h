// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>

namespace idem::inline v1::detail {

/// True for well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates,
/// nothing above U+10FFFF. NUL is well-formed.
bool is_utf8(std::string_view bytes) noexcept;

/// Orders two well-formed UTF-8 texts by their UTF-16 code units, as RFC 8785 section 3.2.3
/// sorts member names.
bool less_by_utf16(std::string_view a, std::string_view b) noexcept;

}  // namespace idem::inline v1::detail
