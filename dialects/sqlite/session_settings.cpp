// SPDX-License-Identifier: BSL-1.0
// Pragmas. Many take effect when they are compiled, so they are never cached.
// https://sqlite.org/pragma.html#syntax
#include <sqlite3.h>

#include <string>
#include <utility>

#include "dialects/sqlite/session_errors.h"
#include "dialects/sqlite/session_impl.h"

namespace idem::inline v1::sqlite::detail {

namespace {

result<std::string> ask(sqlite3* db, char const* pragma) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(db, pragma, -1, &prepared, nullptr) != SQLITE_OK)
    return std::unexpected(last_error(db));
  int const rc = sqlite3_step(prepared);
  std::string answer;
  if (rc == SQLITE_ROW)
    if (auto const* text = sqlite3_column_text(prepared, 0); text != nullptr)
      answer = reinterpret_cast<char const*>(text);
  if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
    sqlite3_finalize(prepared);
    return answer;
  }
  error e = last_error(db);
  sqlite3_finalize(prepared);
  return std::unexpected(std::move(e));
}

result<> run(sqlite3* db, char const* pragmas) {
  if (sqlite3_exec(db, pragmas, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return std::unexpected(last_error(db));
}

// While several connections change the mode of one file, SQLite finds it busy without calling
// the busy handler (seen with sixteen processes on 3.40.1), so the waiting is done here.
result<std::string> ask_patiently(sqlite3* db, char const* pragma, lock_wait& wait) {
  auto answer = ask(db, pragma);
  for (int times = 0; !answer && answer.error().what == errc::lock_timeout && wait.try_again(times);
       ++times)
    answer = ask(db, pragma);
  return answer;
}

// A file keeps WAL, so mostly there is nothing to change.
// https://sqlite.org/wal.html#persistence_of_wal_mode
result<> set_journal(sqlite3* db, journal wanted, lock_wait& wait) {
  if (wanted == journal::keep) return {};
  std::string const name = wanted == journal::wal ? "wal" : "delete";
  auto now = ask(db, "PRAGMA main.journal_mode");
  if (now && *now != name)
    now = ask_patiently(db,
                        wanted == journal::wal ? "PRAGMA main.journal_mode = WAL"
                                               : "PRAGMA main.journal_mode = DELETE",
                        wait);
  if (!now) return std::unexpected(std::move(now).error());
  if (*now == name) return {};
  return std::unexpected(refusal_of(
      errc::configuration, "SQLite keeps the journal mode " + *now + " and does not take " + name +
                               " for this database: leave the option journal out"));
}

// The levels and their numbers: https://sqlite.org/pragma.html#pragma_synchronous
constexpr char const* synchronous_pragmas[] = {
    "PRAGMA main.synchronous = 0", "PRAGMA main.synchronous = 1", "PRAGMA main.synchronous = 2",
    "PRAGMA main.synchronous = 3"};

result<> set_foreign_keys(sqlite3* db, setting wanted) {
  if (wanted == setting::keep) return {};
  int const on = wanted == setting::on ? 1 : 0;
  int now = -1;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, on, &now);
  if (now == on) return {};
  return std::unexpected(refusal_of(errc::configuration,
                                    "this SQLite does not take the option foreign_keys: leave it "
                                    "out"));
}

// The level in force, as a place in `synchronous_pragmas`.
result<std::size_t> set_synchronous(sqlite3* db, durability wanted) {
  if (wanted != durability::keep) {
    auto const* pragma = synchronous_pragmas[static_cast<std::size_t>(wanted) - 1];
    if (auto set = run(db, pragma); !set) return std::unexpected(std::move(set).error());
  }
  auto level = ask(db, "PRAGMA main.synchronous");
  if (!level) return std::unexpected(std::move(level).error());
  if (level->size() == 1 && level->front() >= '0' && level->front() <= '3')
    return static_cast<std::size_t>(level->front() - '0');
  return std::unexpected(
      refusal_of(errc::configuration, "SQLite tells a level of synchronous that is not known"));
}

}  // namespace

result<handle_settings> handle_settings::apply(sqlite3* db, options const& o, lock_wait& wait) {
  handle_settings found;
  if (auto set = set_foreign_keys(db, o.foreign_keys); !set)
    return std::unexpected(std::move(set).error());
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &found.foreign_keys);
  // What follows reads the file, and a database in memory lets nobody read while another
  // connection writes. It can neither be damaged nor synced.
  if (!o.memory_name.empty()) return found;
  // A file that is no database is found by the first read, not by opening it.
  if (auto read = ask(db, "PRAGMA main.schema_version"); !read)
    return std::unexpected(std::move(read).error());
  if (auto set = set_journal(db, o.journal, wait); !set)
    return std::unexpected(std::move(set).error());
  auto level = set_synchronous(db, o.synchronous);
  if (!level) return std::unexpected(std::move(level).error());
  found.synchronous = *level;
  return found;
}

result<> handle_settings::restore(sqlite3* db) const {
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, foreign_keys, nullptr);
  if (synchronous)
    if (auto set = run(db, synchronous_pragmas[*synchronous]); !set) return set;
  return run(db, "PRAGMA query_only = OFF; PRAGMA ignore_check_constraints = OFF");
}

}  // namespace idem::inline v1::sqlite::detail
