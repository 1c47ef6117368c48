// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

// Provocations that go past the port, to SQLite's handle.
namespace idem::inline v1::conformance::detail {

/// From now on called before whatever SQLite does to a file of this process: writes, cuts it off,
/// removes it. False if this SQLite does not go through the system calls that are known here.
bool watch_sqlite_writes(std::function<void()>);

/// Statements that stay in the middle of their rows until this object ends: until then a closed
/// handle lives on.
class unread_statements {
 public:
  unread_statements() = default;
  unread_statements(unread_statements const&) = delete;
  unread_statements& operator=(unread_statements const&) = delete;
  ~unread_statements();

  bool leave(sqlite3*);

 private:
  std::vector<sqlite3_stmt*> all_;
};

}  // namespace idem::inline v1::conformance::detail
