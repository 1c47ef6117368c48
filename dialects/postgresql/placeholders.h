// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace idem::inline v1::postgresql::detail {

/// A statement with PostgreSQL's own placeholders.
struct numbered_statement {
  std::string sql;
  /// How many `?` became `$1`, `$2`, …; a statement that has its own `$n` has none.
  std::size_t placeholders = 0;
};

/// Numbers `?` outside of literals, quoted names and comments; `??` becomes `?`.
/// https://www.postgresql.org/docs/15/sql-syntax-lexical.html
numbered_statement number_placeholders(std::string_view sql);

/// The statement's first word in upper case, behind white space, comments and empty statements.
std::string first_word(std::string_view sql);

}  // namespace idem::inline v1::postgresql::detail
