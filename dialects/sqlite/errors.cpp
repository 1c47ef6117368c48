// SPDX-License-Identifier: BSL-1.0
// What SQLite's result codes mean. https://sqlite.org/rescode.html; the numbers are part of
// SQLite's stable interface, and a test compares them with sqlite3.h.
#include "dialects/sqlite/errors.h"

#include <algorithm>
#include <iterator>

namespace idem::inline v1::sqlite::detail {

namespace {

// BUSY: another connection holds the lock; which one, and for what, SQLite does not say.
// BUSY_SNAPSHOT: a read transaction in WAL mode is too old to begin writing: only a new one can.
// PROTOCOL: a race for WAL's locks that SQLite gave up after about ten seconds.
// SCHEMA: the schema kept changing while a statement was compiled again.
// IOERR: SQLite undid the statement or the transaction; the next handle opens the file anew.
// READONLY_DBMOVED: the file under the handle was moved or replaced.
// ABORT_ROLLBACK: a ROLLBACK ended the transaction under the statement.
constexpr known_code table[] = {
    {1, "SQLITE_ERROR", {errc::statement_failed, advice::never}},
    {2, "SQLITE_INTERNAL", {errc::statement_failed, advice::never}},
    {3, "SQLITE_PERM", {errc::permission_denied, advice::never}},
    {4, "SQLITE_ABORT", {errc::statement_failed, advice::never}},
    {5, "SQLITE_BUSY", {errc::lock_timeout, advice::new_transaction}},
    {6, "SQLITE_LOCKED", {errc::lock_timeout, advice::new_transaction}},
    {7, "SQLITE_NOMEM", {errc::resource_exhausted, advice::never}},
    {8, "SQLITE_READONLY", {errc::read_only, advice::never}},
    {9, "SQLITE_INTERRUPT", {errc::cancelled, advice::never}},
    {10, "SQLITE_IOERR", {errc::statement_failed, advice::new_connection}},
    {11, "SQLITE_CORRUPT", {errc::corrupt, advice::never}},
    {12, "SQLITE_NOTFOUND", {errc::statement_failed, advice::never}},
    {13, "SQLITE_FULL", {errc::resource_exhausted, advice::never}},
    {14, "SQLITE_CANTOPEN", {errc::connection_failed, advice::never}},
    {15, "SQLITE_PROTOCOL", {errc::lock_timeout, advice::new_transaction}},
    {16, "SQLITE_EMPTY", {errc::statement_failed, advice::never}},
    {17, "SQLITE_SCHEMA", {errc::serialization_failure, advice::new_transaction}},
    {18, "SQLITE_TOOBIG", {errc::statement_failed, advice::never}},
    {19, "SQLITE_CONSTRAINT", {errc::constraint_violation, advice::never}},
    {20, "SQLITE_MISMATCH", {errc::statement_failed, advice::never}},
    {21, "SQLITE_MISUSE", {errc::statement_failed, advice::never}},
    {22, "SQLITE_NOLFS", {errc::resource_exhausted, advice::never}},
    {23, "SQLITE_AUTH", {errc::permission_denied, advice::never}},
    {24, "SQLITE_FORMAT", {errc::statement_failed, advice::never}},
    {25, "SQLITE_RANGE", {errc::statement_failed, advice::never}},
    {26, "SQLITE_NOTADB", {errc::corrupt, advice::never}},
    {27, "SQLITE_NOTICE", {errc::statement_failed, advice::never}},
    {28, "SQLITE_WARNING", {errc::statement_failed, advice::never}},
    {257, "SQLITE_ERROR_MISSING_COLLSEQ", {errc::statement_failed, advice::never}},
    {261, "SQLITE_BUSY_RECOVERY", {errc::lock_timeout, advice::new_transaction}},
    {262, "SQLITE_LOCKED_SHAREDCACHE", {errc::lock_timeout, advice::new_transaction}},
    {264, "SQLITE_READONLY_RECOVERY", {errc::read_only, advice::never}},
    {266, "SQLITE_IOERR_READ", {errc::statement_failed, advice::new_connection}},
    {267, "SQLITE_CORRUPT_VTAB", {errc::corrupt, advice::never}},
    {270, "SQLITE_CANTOPEN_NOTEMPDIR", {errc::connection_failed, advice::never}},
    {275, "SQLITE_CONSTRAINT_CHECK", {errc::constraint_violation, advice::never}},
    {279, "SQLITE_AUTH_USER", {errc::permission_denied, advice::never}},
    {283, "SQLITE_NOTICE_RECOVER_WAL", {errc::statement_failed, advice::never}},
    {284, "SQLITE_WARNING_AUTOINDEX", {errc::statement_failed, advice::never}},
    {513, "SQLITE_ERROR_RETRY", {errc::statement_failed, advice::never}},
    {516, "SQLITE_ABORT_ROLLBACK", {errc::transaction_replaced, advice::never}},
    {517, "SQLITE_BUSY_SNAPSHOT", {errc::serialization_failure, advice::new_transaction}},
    {518, "SQLITE_LOCKED_VTAB", {errc::lock_timeout, advice::new_transaction}},
    {520, "SQLITE_READONLY_CANTLOCK", {errc::read_only, advice::never}},
    {522, "SQLITE_IOERR_SHORT_READ", {errc::statement_failed, advice::new_connection}},
    {523, "SQLITE_CORRUPT_SEQUENCE", {errc::corrupt, advice::never}},
    {526, "SQLITE_CANTOPEN_ISDIR", {errc::connection_failed, advice::never}},
    {531, "SQLITE_CONSTRAINT_COMMITHOOK", {errc::constraint_violation, advice::never}},
    {539, "SQLITE_NOTICE_RECOVER_ROLLBACK", {errc::statement_failed, advice::never}},
    {769, "SQLITE_ERROR_SNAPSHOT", {errc::statement_failed, advice::never}},
    {773, "SQLITE_BUSY_TIMEOUT", {errc::lock_timeout, advice::new_transaction}},
    {776, "SQLITE_READONLY_ROLLBACK", {errc::read_only, advice::never}},
    {778, "SQLITE_IOERR_WRITE", {errc::statement_failed, advice::new_connection}},
    {779, "SQLITE_CORRUPT_INDEX", {errc::corrupt, advice::never}},
    {782, "SQLITE_CANTOPEN_FULLPATH", {errc::connection_failed, advice::never}},
    {787, "SQLITE_CONSTRAINT_FOREIGNKEY", {errc::constraint_violation, advice::never}},
    {1032, "SQLITE_READONLY_DBMOVED", {errc::read_only, advice::new_connection}},
    {1034, "SQLITE_IOERR_FSYNC", {errc::statement_failed, advice::new_connection}},
    {1038, "SQLITE_CANTOPEN_CONVPATH", {errc::connection_failed, advice::never}},
    {1043, "SQLITE_CONSTRAINT_FUNCTION", {errc::constraint_violation, advice::never}},
    {1288, "SQLITE_READONLY_CANTINIT", {errc::read_only, advice::never}},
    {1290, "SQLITE_IOERR_DIR_FSYNC", {errc::statement_failed, advice::new_connection}},
    {1294, "SQLITE_CANTOPEN_DIRTYWAL", {errc::connection_failed, advice::never}},
    {1299, "SQLITE_CONSTRAINT_NOTNULL", {errc::constraint_violation, advice::never}},
    {1544, "SQLITE_READONLY_DIRECTORY", {errc::read_only, advice::never}},
    {1546, "SQLITE_IOERR_TRUNCATE", {errc::statement_failed, advice::new_connection}},
    {1550, "SQLITE_CANTOPEN_SYMLINK", {errc::connection_failed, advice::never}},
    {1555, "SQLITE_CONSTRAINT_PRIMARYKEY", {errc::unique_violation, advice::never}},
    {1802, "SQLITE_IOERR_FSTAT", {errc::statement_failed, advice::new_connection}},
    {1811, "SQLITE_CONSTRAINT_TRIGGER", {errc::constraint_violation, advice::never}},
    {2058, "SQLITE_IOERR_UNLOCK", {errc::statement_failed, advice::new_connection}},
    {2067, "SQLITE_CONSTRAINT_UNIQUE", {errc::unique_violation, advice::never}},
    {2314, "SQLITE_IOERR_RDLOCK", {errc::statement_failed, advice::new_connection}},
    {2323, "SQLITE_CONSTRAINT_VTAB", {errc::constraint_violation, advice::never}},
    {2570, "SQLITE_IOERR_DELETE", {errc::statement_failed, advice::new_connection}},
    {2579, "SQLITE_CONSTRAINT_ROWID", {errc::unique_violation, advice::never}},
    {2826, "SQLITE_IOERR_BLOCKED", {errc::statement_failed, advice::new_connection}},
    {2835, "SQLITE_CONSTRAINT_PINNED", {errc::constraint_violation, advice::never}},
    {3082, "SQLITE_IOERR_NOMEM", {errc::resource_exhausted, advice::never}},
    {3091, "SQLITE_CONSTRAINT_DATATYPE", {errc::constraint_violation, advice::never}},
    {3338, "SQLITE_IOERR_ACCESS", {errc::statement_failed, advice::new_connection}},
    {3594, "SQLITE_IOERR_CHECKRESERVEDLOCK", {errc::statement_failed, advice::new_connection}},
    {3850, "SQLITE_IOERR_LOCK", {errc::statement_failed, advice::new_connection}},
    {4106, "SQLITE_IOERR_CLOSE", {errc::statement_failed, advice::new_connection}},
    {4362, "SQLITE_IOERR_DIR_CLOSE", {errc::statement_failed, advice::new_connection}},
    {4618, "SQLITE_IOERR_SHMOPEN", {errc::statement_failed, advice::new_connection}},
    {4874, "SQLITE_IOERR_SHMSIZE", {errc::statement_failed, advice::new_connection}},
    {5130, "SQLITE_IOERR_SHMLOCK", {errc::statement_failed, advice::new_connection}},
    {5386, "SQLITE_IOERR_SHMMAP", {errc::statement_failed, advice::new_connection}},
    {5642, "SQLITE_IOERR_SEEK", {errc::statement_failed, advice::new_connection}},
    {5898, "SQLITE_IOERR_DELETE_NOENT", {errc::statement_failed, advice::new_connection}},
    {6154, "SQLITE_IOERR_MMAP", {errc::statement_failed, advice::new_connection}},
    {6410, "SQLITE_IOERR_GETTEMPPATH", {errc::statement_failed, advice::new_connection}},
    {6666, "SQLITE_IOERR_CONVPATH", {errc::statement_failed, advice::new_connection}},
    {6922, "SQLITE_IOERR_VNODE", {errc::statement_failed, advice::new_connection}},
    {7178, "SQLITE_IOERR_AUTH", {errc::statement_failed, advice::new_connection}},
    {7434, "SQLITE_IOERR_BEGIN_ATOMIC", {errc::statement_failed, advice::new_connection}},
    {7690, "SQLITE_IOERR_COMMIT_ATOMIC", {errc::statement_failed, advice::new_connection}},
    {7946, "SQLITE_IOERR_ROLLBACK_ATOMIC", {errc::statement_failed, advice::new_connection}},
    {8202, "SQLITE_IOERR_DATA", {errc::corrupt, advice::never}},
    {8458, "SQLITE_IOERR_CORRUPTFS", {errc::corrupt, advice::never}},
};

known_code const* find_exactly(std::int64_t code) noexcept {
  auto const* found = std::ranges::lower_bound(table, code, {}, &known_code::code);
  return found != std::end(table) && found->code == code ? found : nullptr;
}

// An extended code holds its primary code in the low byte.
// https://sqlite.org/rescode.html#primary_result_codes_versus_extended_result_codes
known_code const* find(std::int64_t code) noexcept {
  auto const* exact = find_exactly(code);
  return exact != nullptr ? exact : find_exactly(code & 0xff);
}

static_assert(std::ranges::is_sorted(table, {}, &known_code::code));

}  // namespace

std::span<known_code const> known_codes() noexcept { return table; }

meaning classify(native_error const& native) noexcept {
  auto const* known = find(native.code);
  return known != nullptr ? known->means : meaning{};
}

std::string_view code_name(std::int64_t code) noexcept {
  auto const* known = find(code);
  return known != nullptr ? known->name : "an unknown result code";
}

}  // namespace idem::inline v1::sqlite::detail
