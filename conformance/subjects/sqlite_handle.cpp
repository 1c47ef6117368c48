// SPDX-License-Identifier: BSL-1.0
#include "conformance/subjects/sqlite_handle.h"

#include <sqlite3.h>

namespace idem::inline v1::conformance::detail {

unread_statements::~unread_statements() {
  for (auto* one : all_) sqlite3_finalize(one);
}

// It reads no table, so that what it keeps from others is nothing but the handle.
bool unread_statements::leave(sqlite3* db) {
  all_.reserve(all_.size() + 1);
  sqlite3_stmt* rows = nullptr;
  if (sqlite3_prepare_v2(db, "SELECT 1 UNION ALL SELECT 2", -1, &rows, nullptr) != SQLITE_OK)
    return false;
  all_.push_back(rows);
  return sqlite3_step(rows) == SQLITE_ROW;
}

}  // namespace idem::inline v1::conformance::detail
