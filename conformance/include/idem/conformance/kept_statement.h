// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include <idem/session.h>
#include <idem/value.h>

namespace idem::inline v1::conformance {

/// A view of a value that was read, to be bound: it lives as long as the value.
parameter as_parameter(value const&);

/// A statement with its own text and values, for later.
class kept_statement {
 public:
  explicit kept_statement(statement const&);
  std::string const& sql() const noexcept { return sql_; }
  /// Views: they live as long as this.
  std::vector<parameter> parameters() const;

 private:
  std::string sql_;
  std::vector<value> values_;
};

}  // namespace idem::inline v1::conformance
