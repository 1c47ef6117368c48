// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <idem/dialect.h>
#include <idem/error.h>
#include <idem/pool.h>
#include <idem/session.h>
#include <idem/transaction.h>

struct sqlite3;

/// SQLite 3.39 or newer, in this process.
namespace idem::inline v1::sqlite {

/// SQLite's statements, facts and meaning of errors. Lives as long as the program.
dialect const& dialect_value() noexcept;

/// Whether a missing file is made, and whether it is written to.
enum class open_mode : std::uint8_t { create, read_write, read_only };

/// `PRAGMA journal_mode`. WAL stays with the file; with it, a replay reads while another
/// operation writes.
enum class journal : std::uint8_t { keep, wal, rollback };

/// `PRAGMA synchronous`. With WAL, `normal` may lose the last commits when the machine loses
/// power; `off` may lose or spoil the file. `keep`: as SQLite was built, usually `full`.
enum class durability : std::uint8_t { keep, off, normal, full, extra };

/// A setting that can be left as SQLite was built.
enum class setting : std::uint8_t { keep, off, on };

/// What to open. Exactly one of `path` and `memory_name` is set.
struct options {
  /// Taken as it is, with no meaning in "file:" or ":memory:"; a relative one begins at the
  /// working directory of the moment.
  std::string path;
  /// A database in this process's memory, shared by all who name it (letters, digits, '_',
  /// '.', '-'); gone with its last connection. While one connection writes, no other reads.
  /// What is attached to it lives in memory too, unless its URI says vfs=unix.
  std::string memory_name;
  open_mode mode = open_mode::create;
  sqlite::journal journal = journal::keep;
  durability synchronous = durability::keep;
  setting foreign_keys = setting::keep;
  /// How long a statement that names no limit of its own waits for a lock: 0 to 24 hours.
  std::chrono::milliseconds busy{5000};

  friend bool operator==(options const&, options const&) = default;
};

/// A `memory_name` that nobody in this process has. Thread-safe.
std::string unique_memory_name();

/// Reads `sqlite:/absolute/file.db`, `sqlite:///absolute/file.db`, `sqlite:relative.db` or
/// `sqlite::memory:`, percent-encoded ("%3F" for '?', "%25" for '%'). Options: `mode=create|rw|ro`,
/// `journal=keep|wal|delete`, `synchronous=keep|off|normal|full|extra`,
/// `foreign_keys=keep|off|on`, `busy_ms=0..86400000`, and `name=x` for `:memory:`.
/// Each call with `sqlite::memory:` and no name makes a new name: a new, empty database.
/// Errors: `configuration`, `not_executed`, with what is wrong and what may be written.
[[nodiscard]] result<options> parse_url(std::string_view url);

/// Opens a session, sets what `options` says and reads a file's first page, so that what is no
/// database, cannot be read, or cannot be written is found here.
/// `call_limits` bound the wait for a lock.
/// Errors, each `not_executed` and saying what to do: `configuration` (options that cannot
/// be), `connection_failed`, `permission_denied`, `read_only`, `corrupt`, `lock_timeout`.
///
/// The session keeps commits to itself: between its begin and its commit, whatever the effect
/// does with the handle, nothing can be committed; what tries to is rolled back and fails with
/// SQLITE_CONSTRAINT_COMMITHOOK. For this it owns the handle's commit and rollback hooks, its
/// busy handler, and during calls with a deadline or stop token its progress handler: an
/// effect must not set them (a commit hook of its own ends the protection until the next begin,
/// which is noticed: `guards_commit` is false then).
/// `reset` puts back synchronous and foreign_keys as they were after opening, and turns off
/// query_only and ignore_check_constraints; temporary tables and attached databases stay, as do
/// other pragmas. A session left with locking_mode EXCLUSIVE is refused, and so discarded.
///
/// An operation must write to one database file, the one with its record: with WAL SQLite commits
/// each attached file by itself, so a failure between two leaves one without the other
/// (https://sqlite.org/lang_attach.html). This is not checked: BEGIN IMMEDIATE locks every
/// attached file, and SQLite does not tell which were written.
[[nodiscard]] result<std::unique_ptr<session>> connect(options const&, call_limits const& = {});

/// Who has the commit and rollback hooks of a handle that is adopted.
enum class hooks : std::uint8_t {
  caller,   ///< they stay as they are
  session,  ///< the session's from its begin to its end, and none afterwards
};

/// Works with a handle that the caller owns, keeps open longer than the session, and uses in
/// one thread at a time. Never null.
///
/// `PRAGMA read_uncommitted` must be off: with a shared cache it shows records that are not
/// committed. With `hooks::caller` commits are *not* kept to the session (`guards_commit` is
/// false): an effect that commits is found at the save, but has committed; and what it writes after
/// SQLite ended the transaction (OR ROLLBACK) commits by itself. With `hooks::session` a
/// transaction that the session began is kept as `connect` says. During a call with a wait limit,
/// deadline or stop token the handle's busy handling is replaced; afterwards the busy time-out is
/// as PRAGMA busy_timeout told before. A handler set with sqlite3_busy_handler cannot be read and
/// is lost then; so set it again, or use a time-out. A transaction that the session began is rolled
/// back when the session is destroyed; nothing else of the handle is changed.
std::unique_ptr<session> adopt(sqlite3*, hooks whose = hooks::caller);

/// A pool of such sessions. A database in memory lives as long as the pool. Opens nothing yet.
std::unique_ptr<session_pool> pool(options, std::size_t max_sessions = 8);

/// The same from a URL. Opens one session at once, so that errors come early.
/// Errors: as `parse_url` and `connect`.
[[nodiscard]] result<std::unique_ptr<session_pool>> open_pool(std::string_view url,
                                                              std::size_t max_sessions = 8);

/// The handle of a session from here, through any wrapper that passes `native_handle` on.
/// Owned by the session, or by the one who had it adopted.
sqlite3* handle(session&) noexcept;
/// The handle of the transaction's session, for an effect that calls SQLite itself. What it
/// prepares it must finalize before it returns.
sqlite3* handle(transaction const&) noexcept;

/// SQLite has no view of its locks; these say what its busy handler does. Thread-safe while
/// the session exists; false and 0 for any other session.

/// True while a call of the session waits for another connection's lock.
bool waiting(session&) noexcept;
/// True while the handle has a transaction open, whoever began it; false for a session of
/// another engine. Not thread-safe.
bool in_transaction(session&) noexcept;
/// How often SQLite has found a lock taken and asked whether to try again.
std::uint64_t busy_calls(session&) noexcept;

}  // namespace idem::inline v1::sqlite
