// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <idem/session.h>

namespace idem::inline v1::memory::detail {

/// What can be locked: a table of records, a record (table, scope, operation, key), a counter,
/// an inserted row. They differ in how many texts they have.
using row_key = std::vector<std::string>;

/// The columns of `record_column`, in that order.
using record_row = std::vector<value>;

struct record_written {
  row_key key;
  std::optional<record_row> now;  ///< nothing: deleted
};
struct row_added {
  std::string table;
  std::string row;
};
struct counter_added {
  std::string counter;
  std::int64_t amount;
};
struct tables_written {
  std::string tables;
  std::int64_t version;
};
using change = std::variant<record_written, row_added, counter_added, tables_written>;

struct savepoint {
  std::string name;
  std::size_t changes;  ///< how many there were
};

/// A transaction keeps what it writes to itself until its commit: undoing is forgetting.
struct open_transaction {
  std::uint64_t serial = 0;
  std::uint64_t start = 0;  ///< of the engine; another one now: this transaction is gone
  bool read_only = false;
  bool failed = false;
  std::vector<change> changes;
  std::vector<savepoint> savepoints;
  std::vector<row_key> locked;
  std::optional<row_key> waits_for;
  std::uint64_t waits_since = 0;  ///< orders those who wait
};

/// How long one call may wait.
struct patience {
  call_limits limits;
  std::chrono::milliseconds wait_limit;
};

/// The data and the locks. Every member but `mutex` is used with `mutex` held, the fields of
/// `open_transaction` and of the sessions too.
class engine {
 public:
  std::mutex mutex;

  std::uint64_t start() const noexcept { return start_; }
  std::uint64_t next_session_id() noexcept { return ++last_session_; }
  std::size_t open_transactions() const noexcept { return open_.size(); }
  std::size_t committed_records() const noexcept { return records_.size(); }

  void begin(open_transaction&);
  /// What it wrote becomes everybody's. To be followed by `end`.
  void apply(open_transaction&);
  /// Forgets what it wrote and gives its locks up.
  void undo(open_transaction&);
  void end(open_transaction&);
  void restart();

  /// Locks the row until `end` or `undo`, waiting for the one that has it; the first to wait is
  /// the next to have it. True if it was not locked by this transaction before. `lock` is given
  /// up while waiting.
  /// Errors: `lock_timeout`, `deadlock` (the transaction is undone), `connection_lost`,
  /// `cancelled`, `deadline_exceeded`.
  result<bool> lock_row(std::unique_lock<std::mutex>& lock, open_transaction&, row_key const&,
                        patience const&);
  /// Gives up the lock taken last.
  void unlock_last(open_transaction&);

  // What a transaction sees; without one, what is committed.
  std::optional<record_row> record(open_transaction const*, row_key const&) const;
  std::vector<std::string> rows_of(open_transaction const*, std::string_view table) const;
  std::int64_t counter(open_transaction const*, std::string_view counter) const;
  /// Nothing if the tables are not there; 0 before the first version is recorded.
  std::optional<std::int64_t> version(open_transaction const*, std::string_view tables) const;

  bool is_hidden(row_key const& key) const { return hidden_.contains(key); }
  void hide(row_key const&, bool hidden);

 private:
  bool closes_circle(open_transaction const&, row_key const&) const;
  void give(open_transaction&, row_key const&);
  void unlock(row_key const&);
  open_transaction* holder(row_key const&) const;

  std::condition_variable_any changed_;  ///< a waiter was given its lock, or all lost theirs
  std::uint64_t start_ = 1;
  std::uint64_t last_session_ = 0;
  std::uint64_t last_serial_ = 0;
  std::uint64_t last_wait_ = 0;
  std::set<open_transaction*> open_;
  std::map<row_key, open_transaction*> locks_;

  std::map<row_key, record_row> records_;
  std::map<std::string, std::vector<std::string>, std::less<>> rows_;
  std::map<std::string, std::int64_t, std::less<>> counters_;
  std::map<std::string, std::int64_t, std::less<>> versions_;
  std::set<row_key> hidden_;
};

}  // namespace idem::inline v1::memory::detail
