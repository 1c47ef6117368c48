// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <idem/dialect.h>
#include <idem/error.h>
#include <idem/pool.h>
#include <idem/session.h>

namespace idem::inline v1 {
class transaction;
}

/// A database in this process's memory, for tests: operations run with all of the protocol and
/// no server. Not durable, and not SQL.
///
///     auto db = std::make_shared<memory::database>();
///     auto sessions = memory::pool(db);          // schema::install, store::open, store::run
///
/// It behaves as a server with row locks at READ COMMITTED: a write keeps its row until the
/// transaction ends, others wait for it, a circle of waiters costs one of them its transaction,
/// a reader sees what is committed and its own writes and never waits.
namespace idem::inline v1::memory {

namespace detail {
class engine;
class memory_session;
}  // namespace detail

/// The engine's statements, facts and meaning of errors. Lives as long as the program.
dialect const& dialect_value() noexcept;

/// How long a statement waits for a lock where neither its call nor `set_wait_limit` says.
inline constexpr std::chrono::milliseconds default_wait_limit{10000};

/// The data and the locks. Thread-safe. Lives as long as anyone holds it or a session of it.
class database {
 public:
  database();
  database(database const&) = delete;
  database& operator=(database const&) = delete;
  ~database();

  /// The rows that `append` and `insert` committed, in the order of their commits.
  std::vector<std::string> committed_rows(std::string_view table) const;
  /// The sum of what `add` committed; 0 for a counter that nobody added to.
  std::int64_t committed_counter(std::string_view counter) const;
  /// The idempotency records of all stores, those without a response too.
  std::size_t committed_records() const;

  /// How many transactions are open, those that can only be rolled back too.
  std::size_t open_transactions() const;

  /// As a server that is stopped and started: what is open is rolled back, every session is
  /// lost (`connection_lost`, `advice::new_connection`), waiters at once; what is committed
  /// stays.
  void restart();
  /// 1, and one more with each restart.
  std::uint64_t starts() const;

 private:
  friend std::unique_ptr<session> connect(std::shared_ptr<database> const&);
  std::shared_ptr<detail::engine> engine_;
};

/// A session. Isolation: the engine's default, READ UNCOMMITTED and READ COMMITTED (all the
/// last); `begin` with another is `unsupported`. A lock time-out undoes the statement alone; a
/// deadlock undoes the victim's transaction, which then can only be rolled back.
///
/// Commits are *not* kept to the session (`guards_commit` is false), so that what an effect
/// does to its transaction can be rehearsed: the texts BEGIN, COMMIT, COMMIT AND CHAIN and
/// ROLLBACK are obeyed. A statement where the effect has ended the transaction is
/// `transaction_replaced`; a transaction that it began in its place is found by the savepoint,
/// as on a server.
std::unique_ptr<session> connect(std::shared_ptr<database> const&);

/// A pool of such sessions.
std::unique_ptr<session_pool> pool(std::shared_ptr<database> const&, std::size_t max_sessions = 8);

// What an effect writes. Each is one statement through `transaction::execute` and has its
// errors: `lock_timeout` and `deadlock` make `run` start again, `read_only`,
// `transaction_aborted`, `transaction_replaced`. Undone with the transaction, and by a stored
// refusal.

/// Adds a row at the end of a table. Tables need not be made. Never waits.
[[nodiscard]] result<> append(transaction&, std::string_view table, std::string_view row);
/// As `append`, of a row that the table does not hold yet.
/// Errors: `unique_violation`. Waits for a transaction that inserts the same row.
[[nodiscard]] result<> insert(transaction&, std::string_view table, std::string_view row);
/// Adds to a counter and keeps it until the transaction ends; waits for another that has it.
/// Gives its value as this transaction sees it: an amount of 0 reads it under the lock.
/// Errors: `constraint_violation` beyond 64 bits.
[[nodiscard]] result<std::int64_t> add(transaction&, std::string_view counter, std::int64_t amount);

/// The rows that the transaction sees: committed ones, then its own.
[[nodiscard]] result<std::vector<std::string>> rows_of(transaction&, std::string_view table);
/// The same on a session, in its transaction if it has one.
[[nodiscard]] result<std::vector<std::string>> rows_of(session&, std::string_view table);
/// The counter that the session sees, without a lock.
[[nodiscard]] result<std::int64_t> counter_of(session&, std::string_view counter);

// What tests see and set. All of it goes through `session::native_handle`, so a session that
// wraps one of ours does as well as the session itself. For one of another engine: 0 or false,
// and `unsupported`.

/// A number that no other session of the database has had.
std::uint64_t session_id(session&) noexcept;
/// True while a call of the session waits for another's lock. Thread-safe while it exists.
bool waiting(session&) noexcept;
/// The open transaction's number, new with each begin; 0 if there is none. Thread-safe while
/// the session exists.
std::uint64_t transaction_serial(session&) noexcept;

/// How long a statement waits for a lock if its call does not say; until `session::reset`.
[[nodiscard]] result<> set_wait_limit(session&, std::chrono::milliseconds);

/// What `set_wait_limit` set, or the default; nothing for a session of another engine.
std::optional<std::chrono::milliseconds> wait_limit(session&) noexcept;

/// Ends the session from outside, as a server's administrator can: its transaction is rolled
/// back, and whatever it is asked from now on is `connection_lost`. Not while a call of it runs.
[[nodiscard]] result<> disconnect(session&);

enum class commit_fault : std::uint8_t {
  lost_before,            ///< the connection ends, nothing is committed: in doubt
  lost_after,             ///< the transaction is committed, the connection ends: in doubt
  serialization_failure,  ///< the server says no, for this time
  constraint_violation,   ///< the server says no, as a deferred constraint does
};
/// Makes the session's next COMMIT fail; until `session::reset`. To be called by an effect, or
/// on an idle session.
[[nodiscard]] result<> fail_next_commit(session&, commit_fault);

/// A statement that fails and takes its transaction with it, as any failure does on some
/// servers: `statement_failed`, and the transaction can only be rolled back.
[[nodiscard]] result<> abort_transaction(transaction&);

// For tests of idem itself there are two more texts, on the table of records as the store
// names it ("main.idem_record"), with (scope, operation, key): "DELETE main.idem_record", and
// "HIDE main.idem_record" with a fourth parameter, 1 or 0: at once and for everybody, the
// record cannot be read, and its key is taken.

}  // namespace idem::inline v1::memory
