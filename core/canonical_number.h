// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include <idem/error.h>
#include <idem/fingerprint.h>

namespace idem::inline v1::detail {

/// Appends the canonical form of one JSON number: its exact decimal value in the layout of
/// ECMAScript's Number::toString, which RFC 8785 section 3.2.2.3 uses. -0 becomes 0.
///
/// Errors: `invalid_argument` for text outside RFC 8259's grammar, and for
/// - more significant digits, as written, than `max_number_digits`. They count from the first
///   one that is not 0; of a zero, all are counted, so that no bound is passed by zeros;
/// - a written exponent, or the exponent of the value in scientific notation, beyond
///   `max_exponent` either way. The first is refused even where the digits make up for it
///   (0e999999999): nobody writes that by accident. No limit raises it past 10^17 - 1.
result<> append_canonical_number(std::string_view text, json_limits const& limits,
                                 std::string& out);

}  // namespace idem::inline v1::detail
