// SPDX-License-Identifier: BSL-1.0
#include <idem/sqlite.h>
#include <sqlite3.h>

namespace idem::inline v1::sqlite {

bool in_transaction(session& s) noexcept {
  return s.sql().name == dialect_value().name && sqlite3_get_autocommit(handle(s)) == 0;
}

}  // namespace idem::inline v1::sqlite
