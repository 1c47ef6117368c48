// SPDX-License-Identifier: BSL-1.0
#include "conformance/subjects/sqlite_handle.h"

#include <sqlite3.h>
#include <sys/types.h>

#include <utility>

namespace idem::inline v1::conformance::detail {

namespace {

// The unix file system of SQLite lets its system calls be replaced by name, for tests:
// xSetSystemCall in https://sqlite.org/c3ref/vfs.html. Their names and types are those of aSyscall
// in https://github.com/sqlite/sqlite/blob/version-3.40.1/src/os_unix.c
std::function<void()> told;

// One replacement for each of SQLite's calls, which goes on to the one that was there.
template <std::size_t Number, class Result, class... Parameters>
struct watched {
  using call = Result (*)(Parameters...);
  static inline call real = nullptr;
  static Result first_tell(Parameters... p) {
    told();
    return real(p...);
  }
};

template <class Watched>
bool replace(sqlite3_vfs* files, char const* name) {
  auto const found = files->xGetSystemCall(files, name);
  if (found == nullptr) return false;
  Watched::real = reinterpret_cast<typename Watched::call>(found);
  return files->xSetSystemCall(
             files, name, reinterpret_cast<sqlite3_syscall_ptr>(&Watched::first_tell)) == SQLITE_OK;
}

}  // namespace

bool watch_sqlite_writes(std::function<void()> tell) {
  auto* const files = sqlite3_vfs_find(nullptr);
  if (files == nullptr || files->iVersion < 3 || files->xSetSystemCall == nullptr) return false;
  told = std::move(tell);
  bool const plain = replace<watched<0, ssize_t, int, void const*, size_t>>(files, "write");
  // Which of these a build uses is its own affair.
  bool const at = replace<watched<1, ssize_t, int, void const*, size_t, off_t>>(files, "pwrite");
  bool const at64 =
      replace<watched<2, ssize_t, int, void const*, size_t, off64_t>>(files, "pwrite64");
  bool const cut = replace<watched<3, int, int, off_t>>(files, "ftruncate");
  bool const removed = replace<watched<4, int, char const*>>(files, "unlink");
  return (plain || at || at64) && cut && removed;
}

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
