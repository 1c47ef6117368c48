// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <idem/error.h>

namespace idem::inline v1::detail {

/// "JSON <what> is <seen>; <bound> is <limit>". Numbers only: the text is never repeated.
template <std::integral T>
std::unexpected<error> over_bound(std::string_view what, T seen, std::string_view bound, T limit) {
  std::string message = "JSON ";
  message.append(what).append(" is ").append(std::to_string(seen));
  message.append("; ").append(bound).append(" is ").append(std::to_string(limit));
  return invalid_argument(std::move(message));
}

}  // namespace idem::inline v1::detail
