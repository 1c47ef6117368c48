// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <idem/sqlite.h>

#include "dialects/sqlite/session_statements.h"
#include "dialects/sqlite/session_wait.h"

namespace idem::inline v1::sqlite::detail {

/// Turns every COMMIT that is not ours into a ROLLBACK while an operation is open, an
/// autocommit included. https://sqlite.org/c3ref/commit_hook.html
struct commit_guard {
  bool armed = false;
  bool ours = false;    ///< the COMMIT or ROLLBACK that runs is the session's
  bool broken = false;  ///< the transaction was ended, or a commit of it was stopped

  void install(sqlite3*);
  static void remove(sqlite3*) noexcept;
  static int on_commit(void* self) noexcept;
  static void on_rollback(void* self) noexcept;
};

/// Settings of a handle that `reset` puts back.
struct handle_settings {
  int foreign_keys = 0;
  std::optional<std::size_t> synchronous;  ///< nothing for a database in memory

  /// Sets and checks what `options` asks for, then remembers what is in force. Reads a file's
  /// first page.
  static result<handle_settings> apply(sqlite3*, options const&, lock_wait&);
  result<> restore(sqlite3*) const;
};

class sqlite_session final : public session {
 public:
  /// `opened_with`: the session owns the handle; nothing: the caller does.
  sqlite_session(sqlite3*, std::optional<options> opened_with, hooks whose);
  ~sqlite_session() override;

  /// First use of an owned handle.
  result<> configure(call_limits const&);

  dialect const& sql() const noexcept override { return dialect_value(); }
  result<transaction_status> status() override;
  result<> begin(begin_options const&) override;
  result<> commit(std::span<statement const> last, call_limits const&) override;
  result<> rollback() noexcept override;
  result<std::vector<rows>> execute(std::span<statement const>, call_limits const&) override;
  result<> reset() noexcept override;
  void* native_handle() noexcept override { return db_; }
  std::optional<error> pending_error() noexcept override;
  bool guards_commit() const noexcept override {
    look_for_guard();
    return whose_hooks_ == hooks::session && !guard_lost_;
  }
  std::string one_writer_of() override;

 private:
  bool in_transaction() const noexcept;
  bool has_moved() const noexcept;
  result<> may_begin(begin_options const&) const;
  result<> may_run() const;
  result<> run_all(std::span<statement const>, std::vector<rows>&);
  result<> run_one(std::string_view sql);
  result<> set_query_only(bool);
  int written_databases() const noexcept;
  void look_for_guard() const noexcept;
  error refused_commit(error, bool several_files) const;
  error blocked_by_itself(error) const;
  error stopped_by_guard(error) const;
  bool has_busy_statement(bool only_writers) const noexcept;
  void end() noexcept;

  sqlite3* db_;
  std::optional<options> owned_;
  hooks whose_hooks_;
  handle_settings settings_;
  lock_wait wait_;
  statement_cache statements_;
  mutable commit_guard guard_;  // the hooks are given its address
  bool begun_ = false;
  mutable bool guard_lost_ = false;  // the effect set a commit hook of its own
  bool query_only_ = false;          // set by a read-only begin
};

}  // namespace idem::inline v1::sqlite::detail
