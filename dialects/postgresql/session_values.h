// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <string>
#include <vector>

#include <idem/error.h>
#include <idem/session.h>

namespace idem::inline v1::postgresql::detail {

/// Which parameters are bytes: a bit for each of the first 64.
using byte_mask = std::uint64_t;

/// Parameters as libpq takes them. What the session binds lives as long as this.
class bound_parameters {
 public:
  /// Errors: `invalid_argument` for text with NUL, which no text of PostgreSQL can hold, and
  /// for more than 64 parameters with bytes beyond the 64th.
  result<> bind(std::span<parameter const>);

  int count() const noexcept { return static_cast<int>(values_.size()); }
  Oid const* types() const noexcept { return types_.data(); }
  char const* const* values() const noexcept { return values_.data(); }
  int const* lengths() const noexcept { return lengths_.data(); }
  int const* formats() const noexcept { return formats_.data(); }
  byte_mask bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::string> texts_;
  std::vector<Oid> types_;
  std::vector<char const*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  byte_mask bytes_ = 0;
};

/// True if every column can be read in the binary format.
bool has_binary_columns(PGresult const*) noexcept;

/// What one statement answered. Errors: `corrupt` for a value that is not as its type says.
result<rows> read_rows(PGresult const*);

}  // namespace idem::inline v1::postgresql::detail
