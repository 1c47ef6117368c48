// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <idem/dialect.h>

namespace idem::inline v1::sqlite::detail {

/// One result code of SQLite and what it means. https://sqlite.org/rescode.html
struct known_code {
  std::int64_t code;
  std::string_view name;
  meaning means;
};

/// Every code that is known, in ascending order.
std::span<known_code const> known_codes() noexcept;

/// By the extended code; one that is not known means what its primary code (the low byte)
/// means.
meaning classify(native_error const&) noexcept;

/// SQLITE_BUSY_SNAPSHOT for 517; the primary code's name for a code that is not known.
std::string_view code_name(std::int64_t) noexcept;

}  // namespace idem::inline v1::sqlite::detail
