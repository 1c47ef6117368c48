// SPDX-License-Identifier: BSL-1.0
// Opening a file and saying why it cannot be used.
#include <sqlite3.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <utility>

#include "dialects/sqlite/options.h"
#include "dialects/sqlite/session_errors.h"
#include "dialects/sqlite/session_impl.h"

namespace idem::inline v1::sqlite {

namespace detail {

namespace {

constexpr int oldest_version = 3039000;  // sqlite3_db_name; STRICT and table_list are older

struct closer {
  void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
};
using owned_handle = std::unique_ptr<sqlite3, closer>;

// A name of the memdb VFS that begins with '/' is shared within the process, with locks as a
// file has them. https://sqlite.org/src/file/src/memdb.c
// Any other name is a path: "./" keeps "file:" and ":memory:" from their special meaning.
// https://sqlite.org/c3ref/open.html
std::string file_name(options const& o) {
  if (!o.memory_name.empty()) return "file:/idem-" + o.memory_name + "?vfs=memdb";
  return o.path.starts_with('/') ? o.path : "./" + o.path;
}

int open_flags(options const& o) {
  // One thread at a time uses a session: SQLite's own lock of the handle is not needed.
  int const common = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  if (!o.memory_name.empty())
    return common | SQLITE_OPEN_URI | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  switch (o.mode) {
    case open_mode::read_only:
      return common | SQLITE_OPEN_READONLY;
    case open_mode::read_write:
      return common | SQLITE_OPEN_READWRITE;
    case open_mode::create:
      break;
  }
  return common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
}

std::string quoted(std::string const& path) { return "'" + path + "'"; }

// SQLite says SQLITE_CANTOPEN for all of these; the reason is in the system's error number.
error why_not_opened(sqlite3* db, options const& o) {
  error e = last_error(db);
  e.phase = phase::connect;
  auto const say = [&e](errc what, std::string message) {
    e.what = what;
    e.message = std::move(message);
    return e;
  };
  std::error_code ignored;
  std::filesystem::path const path(o.path);
  auto const folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  int const number = sqlite3_system_errno(db);
  if (std::filesystem::is_directory(path, ignored))
    return say(errc::connection_failed, quoted(o.path) + " is a folder: name a file in it");
  if (number == EACCES || number == EPERM)
    return say(errc::permission_denied,
               "no right to open " + quoted(o.path) + ": give this process rights to it");
  if (number == EROFS)
    return say(errc::read_only, quoted(o.path) + " is on a file system that cannot be written");
  if (number == ENOENT || number == ENOTDIR) {
    if (!std::filesystem::is_directory(folder, ignored))
      return say(errc::connection_failed,
                 "the folder " + quoted(folder.string()) + " does not exist: make it first");
    // SQLite tries to make the file, then to open it for reading, and keeps the second error.
    if (o.mode == open_mode::create)
      return say(errc::permission_denied, "no right to make a file in " + quoted(folder.string()) +
                                              ": give this process rights to the folder");
    return say(errc::connection_failed, quoted(o.path) +
                                            " does not exist: correct the path, or "
                                            "leave out the mode to have it made");
  }
  return say(errc::connection_failed,
             quoted(o.path) + " cannot be opened (system error " + std::to_string(number) + ")");
}

result<owned_handle> open_handle(options const& o) {
  if (sqlite3_libversion_number() < oldest_version)
    return std::unexpected(
        refusal_of(errc::configuration, std::string("SQLite 3.39 or newer is needed, this is ") +
                                            sqlite3_libversion() + ": link a newer one"));
  sqlite3* raw = nullptr;
  int const rc = sqlite3_open_v2(file_name(o).c_str(), &raw, open_flags(o), nullptr);
  owned_handle db(raw);
  if (!db) return std::unexpected(refusal_of(errc::resource_exhausted, "no memory for SQLite"));
  if (rc != SQLITE_OK) return std::unexpected(why_not_opened(db.get(), o));
  sqlite3_extended_result_codes(db.get(), 1);
  // Without the right to write, SQLite opens for reading and says nothing.
  bool const writes = o.memory_name.empty() && o.mode != open_mode::read_only;
  if (writes && sqlite3_db_readonly(db.get(), "main") == 1)
    return std::unexpected(
        refusal_of(errc::read_only, "no right to write " + quoted(o.path) +
                                        ": give this process rights to it, or say mode=ro"));
  return db;
}

std::string name_of(options const& o) {
  return o.memory_name.empty() ? quoted(o.path) : "the database in memory";
}

error why_not_used(error e, options const& o) {
  switch (e.what) {
    case errc::corrupt:
      e.message = name_of(o) +
                  " is not an SQLite database, or is damaged: check the path, or run "
                  "PRAGMA integrity_check on it";
      break;
    case errc::lock_timeout:
      e.message = name_of(o) +
                  " is locked by another connection: close that, or wait longer "
                  "(busy_ms)";
      break;
    case errc::connection_failed:
    case errc::read_only:
      e.message = name_of(o) +
                  " cannot be read: SQLite needs to write its -wal and -shm files "
                  "in the same folder";
      break;
    default:
      break;
  }
  e.phase = phase::connect;
  return e;
}

// Holds one connection, so that a database in memory outlives its pool's idle times.
struct keeper {
  std::mutex mutex;
  std::unique_ptr<session> held;

  result<> hold(options const& o, call_limits const& limits) {
    std::scoped_lock const lock(mutex);
    if (held) return {};
    auto opened = connect(o, limits);
    if (!opened) return std::unexpected(std::move(opened).error());
    held = std::move(*opened);
    return {};
  }
};

}  // namespace

}  // namespace detail

result<std::unique_ptr<session>> connect(options const& o, call_limits const& limits) {
  if (auto valid = detail::check(o); !valid) return std::unexpected(std::move(valid).error());
  auto db = detail::open_handle(o);
  if (!db) return std::unexpected(std::move(db).error());
  auto made = std::make_unique<detail::sqlite_session>(db->get(), o, hooks::session);
  db->release();
  auto ready = made->configure(limits);
  if (!ready) return std::unexpected(detail::why_not_used(std::move(ready).error(), o));
  return made;
}

std::unique_ptr<session> adopt(sqlite3* db, hooks whose) {
  return std::make_unique<detail::sqlite_session>(db, std::nullopt, whose);
}

std::unique_ptr<session_pool> pool(options o, std::size_t max_sessions) {
  auto const kept = std::make_shared<detail::keeper>();
  return std::make_unique<session_pool>(
      [o = std::move(o), kept](call_limits const& limits) -> result<std::unique_ptr<session>> {
        if (!o.memory_name.empty())
          if (auto held = kept->hold(o, limits); !held)
            return std::unexpected(std::move(held).error());
        return connect(o, limits);
      },
      max_sessions);
}

result<std::unique_ptr<session_pool>> open_pool(std::string_view url, std::size_t max_sessions) {
  auto parsed = parse_url(url);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  auto made = pool(std::move(*parsed), max_sessions);
  auto first = made->acquire({});
  if (!first) return std::unexpected(std::move(first).error());
  made->release(*first, true);
  return made;
}

sqlite3* handle(session& s) noexcept { return static_cast<sqlite3*>(s.native_handle()); }

sqlite3* handle(transaction const& tx) noexcept { return handle(tx.session()); }

bool waiting(session& s) noexcept {
  auto const view = detail::view_of(handle(s));
  return view && view->waiting;
}

std::uint64_t busy_calls(session& s) noexcept {
  auto const view = detail::view_of(handle(s));
  return view ? view->busy_calls.load() : 0;
}

}  // namespace idem::inline v1::sqlite
