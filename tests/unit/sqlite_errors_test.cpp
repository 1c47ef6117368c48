// SPDX-License-Identifier: BSL-1.0
#include "dialects/sqlite/errors.h"

#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <ranges>

#include <idem/sqlite.h>

namespace {

using idem::advice;
using idem::errc;

struct expectation {
  int code;  // sqlite3.h's own value: it must be the one in the table
  std::string_view name;
  errc what;
  idem::advice next;
};

#define CODE(name, what, next) {name, #name, errc::what, advice::next}

// What a program may do with each code, by hand, apart from the table under test.
constexpr expectation expectations[] = {
    CODE(SQLITE_ERROR, statement_failed, never),
    CODE(SQLITE_INTERNAL, statement_failed, never),
    CODE(SQLITE_PERM, permission_denied, never),
    CODE(SQLITE_ABORT, statement_failed, never),
    CODE(SQLITE_BUSY, lock_timeout, new_transaction),
    CODE(SQLITE_LOCKED, lock_timeout, new_transaction),
    CODE(SQLITE_NOMEM, resource_exhausted, never),
    CODE(SQLITE_READONLY, read_only, never),
    CODE(SQLITE_INTERRUPT, cancelled, never),
    CODE(SQLITE_IOERR, statement_failed, new_connection),
    CODE(SQLITE_CORRUPT, corrupt, never),
    CODE(SQLITE_NOTFOUND, statement_failed, never),
    CODE(SQLITE_FULL, resource_exhausted, never),
    CODE(SQLITE_CANTOPEN, connection_failed, never),
    CODE(SQLITE_PROTOCOL, lock_timeout, new_transaction),
    CODE(SQLITE_EMPTY, statement_failed, never),
    CODE(SQLITE_SCHEMA, serialization_failure, new_transaction),
    CODE(SQLITE_TOOBIG, statement_failed, never),
    CODE(SQLITE_CONSTRAINT, constraint_violation, never),
    CODE(SQLITE_MISMATCH, statement_failed, never),
    CODE(SQLITE_MISUSE, statement_failed, never),
    CODE(SQLITE_NOLFS, resource_exhausted, never),
    CODE(SQLITE_AUTH, permission_denied, never),
    CODE(SQLITE_FORMAT, statement_failed, never),
    CODE(SQLITE_RANGE, statement_failed, never),
    CODE(SQLITE_NOTADB, corrupt, never),
    CODE(SQLITE_NOTICE, statement_failed, never),
    CODE(SQLITE_WARNING, statement_failed, never),
    CODE(SQLITE_ERROR_MISSING_COLLSEQ, statement_failed, never),
    CODE(SQLITE_ERROR_RETRY, statement_failed, never),
    CODE(SQLITE_ERROR_SNAPSHOT, statement_failed, never),
    CODE(SQLITE_ABORT_ROLLBACK, transaction_replaced, never),
    CODE(SQLITE_BUSY_RECOVERY, lock_timeout, new_transaction),
    CODE(SQLITE_BUSY_SNAPSHOT, serialization_failure, new_transaction),
    CODE(SQLITE_BUSY_TIMEOUT, lock_timeout, new_transaction),
    CODE(SQLITE_LOCKED_SHAREDCACHE, lock_timeout, new_transaction),
    CODE(SQLITE_LOCKED_VTAB, lock_timeout, new_transaction),
    CODE(SQLITE_READONLY_RECOVERY, read_only, never),
    CODE(SQLITE_READONLY_CANTLOCK, read_only, never),
    CODE(SQLITE_READONLY_ROLLBACK, read_only, never),
    CODE(SQLITE_READONLY_DBMOVED, read_only, new_connection),
    CODE(SQLITE_READONLY_CANTINIT, read_only, never),
    CODE(SQLITE_READONLY_DIRECTORY, read_only, never),
    CODE(SQLITE_IOERR_READ, statement_failed, new_connection),
    CODE(SQLITE_IOERR_SHORT_READ, statement_failed, new_connection),
    CODE(SQLITE_IOERR_WRITE, statement_failed, new_connection),
    CODE(SQLITE_IOERR_FSYNC, statement_failed, new_connection),
    CODE(SQLITE_IOERR_DIR_FSYNC, statement_failed, new_connection),
    CODE(SQLITE_IOERR_TRUNCATE, statement_failed, new_connection),
    CODE(SQLITE_IOERR_FSTAT, statement_failed, new_connection),
    CODE(SQLITE_IOERR_UNLOCK, statement_failed, new_connection),
    CODE(SQLITE_IOERR_RDLOCK, statement_failed, new_connection),
    CODE(SQLITE_IOERR_DELETE, statement_failed, new_connection),
    CODE(SQLITE_IOERR_BLOCKED, statement_failed, new_connection),
    CODE(SQLITE_IOERR_NOMEM, resource_exhausted, never),
    CODE(SQLITE_IOERR_ACCESS, statement_failed, new_connection),
    CODE(SQLITE_IOERR_CHECKRESERVEDLOCK, statement_failed, new_connection),
    CODE(SQLITE_IOERR_LOCK, statement_failed, new_connection),
    CODE(SQLITE_IOERR_CLOSE, statement_failed, new_connection),
    CODE(SQLITE_IOERR_DIR_CLOSE, statement_failed, new_connection),
    CODE(SQLITE_IOERR_SHMOPEN, statement_failed, new_connection),
    CODE(SQLITE_IOERR_SHMSIZE, statement_failed, new_connection),
    CODE(SQLITE_IOERR_SHMLOCK, statement_failed, new_connection),
    CODE(SQLITE_IOERR_SHMMAP, statement_failed, new_connection),
    CODE(SQLITE_IOERR_SEEK, statement_failed, new_connection),
    CODE(SQLITE_IOERR_DELETE_NOENT, statement_failed, new_connection),
    CODE(SQLITE_IOERR_MMAP, statement_failed, new_connection),
    CODE(SQLITE_IOERR_GETTEMPPATH, statement_failed, new_connection),
    CODE(SQLITE_IOERR_CONVPATH, statement_failed, new_connection),
    CODE(SQLITE_IOERR_VNODE, statement_failed, new_connection),
    CODE(SQLITE_IOERR_AUTH, statement_failed, new_connection),
    CODE(SQLITE_IOERR_BEGIN_ATOMIC, statement_failed, new_connection),
    CODE(SQLITE_IOERR_COMMIT_ATOMIC, statement_failed, new_connection),
    CODE(SQLITE_IOERR_ROLLBACK_ATOMIC, statement_failed, new_connection),
    CODE(SQLITE_IOERR_DATA, corrupt, never),
    CODE(SQLITE_IOERR_CORRUPTFS, corrupt, never),
    CODE(SQLITE_CORRUPT_VTAB, corrupt, never),
    CODE(SQLITE_CORRUPT_SEQUENCE, corrupt, never),
    CODE(SQLITE_CORRUPT_INDEX, corrupt, never),
    CODE(SQLITE_CANTOPEN_NOTEMPDIR, connection_failed, never),
    CODE(SQLITE_CANTOPEN_ISDIR, connection_failed, never),
    CODE(SQLITE_CANTOPEN_FULLPATH, connection_failed, never),
    CODE(SQLITE_CANTOPEN_CONVPATH, connection_failed, never),
    CODE(SQLITE_CANTOPEN_DIRTYWAL, connection_failed, never),
    CODE(SQLITE_CANTOPEN_SYMLINK, connection_failed, never),
    CODE(SQLITE_CONSTRAINT_CHECK, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_COMMITHOOK, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_FOREIGNKEY, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_FUNCTION, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_NOTNULL, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_PRIMARYKEY, unique_violation, never),
    CODE(SQLITE_CONSTRAINT_TRIGGER, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_UNIQUE, unique_violation, never),
    CODE(SQLITE_CONSTRAINT_VTAB, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_ROWID, unique_violation, never),
    CODE(SQLITE_CONSTRAINT_PINNED, constraint_violation, never),
    CODE(SQLITE_CONSTRAINT_DATATYPE, constraint_violation, never),
    CODE(SQLITE_NOTICE_RECOVER_WAL, statement_failed, never),
    CODE(SQLITE_NOTICE_RECOVER_ROLLBACK, statement_failed, never),
    CODE(SQLITE_WARNING_AUTOINDEX, statement_failed, never),
    CODE(SQLITE_AUTH_USER, permission_denied, never),
};

#undef CODE

idem::meaning meaning_of(std::int64_t code) {
  return idem::sqlite::dialect_value().classify({"", code, "words that do not count"});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sqlite_errors)

BOOST_AUTO_TEST_CASE(each_code_means_what_it_should) {
  for (auto const& e : expectations) {
    BOOST_TEST_CONTEXT(e.name) {
      BOOST_TEST(idem::sqlite::detail::code_name(e.code) == e.name);
      BOOST_TEST(to_string(meaning_of(e.code).what) == to_string(e.what));
      BOOST_TEST(to_string(meaning_of(e.code).advice) == to_string(e.next));
    }
  }
}

BOOST_AUTO_TEST_CASE(no_code_is_left_out_of_this_test) {
  BOOST_TEST(idem::sqlite::detail::known_codes().size() == std::size(expectations));
}

BOOST_AUTO_TEST_CASE(a_code_of_a_newer_sqlite_means_what_its_primary_code_means) {
  constexpr int newer = 200 << 8;
  for (auto const& known : idem::sqlite::detail::known_codes() | std::views::take(28)) {
    auto const means = meaning_of(newer | known.code);
    BOOST_TEST((means.what == known.means.what), known.name);
    BOOST_TEST((means.advice == known.means.advice), known.name);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_code_of_sqlite_is_a_failed_statement) {
  for (auto const code :
       {std::int64_t{0}, std::int64_t{99}, std::int64_t{-1},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    BOOST_TEST((meaning_of(code).what == errc::statement_failed), code);
    BOOST_TEST((meaning_of(code).advice == advice::never), code);
    BOOST_TEST(idem::sqlite::detail::code_name(code) == "an unknown result code");
  }
}

BOOST_AUTO_TEST_CASE(words_and_sqlstate_do_not_count) {
  auto const classify = idem::sqlite::dialect_value().classify;
  auto const means = classify({"40001", SQLITE_CONSTRAINT_CHECK, "database is locked"});
  BOOST_TEST((means.what == errc::constraint_violation));
}

BOOST_AUTO_TEST_SUITE_END()
