// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <idem/error.h>
#include <idem/fingerprint.h>

namespace idem::inline v1::detail {

/// The canonical form of one JSON text under protocol.md's rules (RFC 8785's layout, exact
/// decimal numbers), with the members named by `left_out` (JSON Pointers, RFC 6901) removed.
/// Errors: `invalid_argument` for text that is not JSON, a duplicate name, invalid UTF-8, a
/// lone surrogate, a bound exceeded, a pointer that is malformed or names an array element.
/// No error repeats the text. Memory is bounded by the text's size, which is bounded.
result<std::string> canonical_json(std::string_view text, std::span<std::string const> left_out,
                                   json_limits const& limits);

/// `invalid_argument` for a text that is no JSON Pointer or names the whole document.
result<> check_json_pointer(std::string_view pointer);

}  // namespace idem::inline v1::detail
