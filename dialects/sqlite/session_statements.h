// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include <idem/session.h>

struct sqlite3;
struct sqlite3_stmt;

namespace idem::inline v1::sqlite::detail {

/// A handle's prepared statements by their text, the least recently used given up first.
class statement_cache {
 public:
  static constexpr std::size_t max_statements = 64;

  explicit statement_cache(sqlite3* db) : db_(db) {}
  statement_cache(statement_cache const&) = delete;
  statement_cache& operator=(statement_cache const&) = delete;
  ~statement_cache() { clear(); }

  /// Owned by the cache, valid until the next call; null for a text without a statement.
  /// Errors: the dialect's meaning; `invalid_argument` for a second statement in the text.
  result<sqlite3_stmt*> prepare(std::string_view text);

  void clear() noexcept;

 private:
  struct entry {
    std::string text;
    sqlite3_stmt* prepared = nullptr;
  };
  std::list<entry> recent_;  // the last used one in front
  std::unordered_map<std::string_view, std::list<entry>::iterator> by_text_;
  sqlite3* db_;
};

/// Binds, runs to the end and resets one statement.
/// Errors: as `prepare`; `invalid_argument` for another number of parameters than the text has.
result<rows> run_statement(sqlite3*, statement_cache&, statement const&);

}  // namespace idem::inline v1::sqlite::detail
