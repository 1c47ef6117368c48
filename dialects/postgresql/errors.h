// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string_view>

#include <idem/dialect.h>

namespace idem::inline v1::postgresql::detail {

/// A SQLSTATE, or the first two characters of one for its whole class, and what it means.
struct known_state {
  std::string_view state;
  meaning means;
};

/// Every one that is known, in ascending order.
std::span<known_state const> known_states() noexcept;

/// By the SQLSTATE; one that is not known means what its class means.
meaning classify(native_error const&) noexcept;

}  // namespace idem::inline v1::postgresql::detail
