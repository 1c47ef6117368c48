// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <idem/attempt.h>

namespace idem::inline v1 {

/// What went wrong: a closed list of things a program can act on.
/// Expected answers (replayed, mismatched, in progress, refused) are outcomes, not errors.
enum class errc : std::uint8_t {
  // The caller's input or set-up. Nothing was sent.
  invalid_argument,  ///< an identity, request, option or name outside its declared bounds
  configuration,     ///< a URL, a server setting or a component that cannot work
  unsupported,       ///< the engine or driver cannot do what was asked

  // Reaching the database.
  connection_failed,   ///< no connection was made
  connection_lost,     ///< the connection ended under us
  permission_denied,   ///< the server refused a right
  read_only,           ///< the database, server or session accepts no writes
  resource_exhausted,  ///< disk, memory, connections, pool
  schema_missing,      ///< idem's tables are not there
  schema_invalid,      ///< idem's tables are not as they must be
  schema_newer,        ///< idem's tables are of a version this library does not know
  corrupt,             ///< the database or a record cannot be read as what it should be

  // The state of the session or the transaction.
  session_not_idle,      ///< `run` was given a session in use
  transaction_not_open,  ///< there is no transaction to work in
  transaction_aborted,   ///< the transaction can only be rolled back
  transaction_replaced,  ///< the claim's transaction ended before the save
  isolation_mismatch,    ///< the transaction is not at the isolation level asked for
  claim_open,            ///< this transaction holds an open claim of the same identity

  // Transient: the whole transaction may be tried again.
  serialization_failure,
  deadlock,
  lock_timeout,

  // The caller's patience.
  cancelled,
  deadline_exceeded,

  // A statement of the effect.
  unique_violation,
  constraint_violation,
  statement_failed,

  // The record.
  fingerprint_unknown,  ///< the record's fingerprint was made by a rule this library does not know
  incomplete,           ///< committed without a response: see `store::settle`
  record_invisible,     ///< the key conflicts, but no record can be read
  window_passed,        ///< too late to tell
  response_too_large,   ///< larger than `max_response_bytes`
  save_unmatched,       ///< the save did not match exactly one record
  commit_in_doubt,      ///< COMMIT was sent and its answer is not known
};

/// Where in the operation it went wrong.
enum class phase : std::uint8_t {
  validate,
  connect,
  preflight,
  begin,
  claim,
  effect,
  save,
  commit,
  rollback,
  resolve,
  schema,
};

/// What is known about the effect when the error is returned.
enum class certainty : std::uint8_t {
  not_executed,  ///< the effect was not started
  rolled_back,   ///< it was started and nothing of it stays
  in_doubt,      ///< it may stay: resolve before anything else
};

/// What may be done next with the same request.
enum class advice : std::uint8_t {
  never,            ///< the same call fails again until something is changed
  new_transaction,  ///< try the whole transaction again
  new_connection,   ///< try again on another connection
  resolve_first,    ///< find out by the record before anything else
};

std::string_view to_string(errc) noexcept;
std::string_view to_string(phase) noexcept;
std::string_view to_string(certainty) noexcept;
std::string_view to_string(advice) noexcept;

/// The server's or driver's own words. `message` may quote the caller's data
/// (PostgreSQL's DETAIL and MySQL's 1062 do), so it is kept apart and never
/// part of `error::message` or `describe`.
struct native_error {
  std::string sqlstate;   ///< five characters, empty where the engine has none
  std::int64_t code = 0;  ///< the engine's number: errno, ORA-, extended result code
  std::string message;
  friend bool operator==(native_error const&, native_error const&) = default;
};

/// One failure, as a value. Copyable, no ownership, no thread rule.
struct error {
  errc what = errc::statement_failed;
  idem::phase phase = idem::phase::validate;
  idem::certainty certainty = idem::certainty::not_executed;
  idem::advice advice = idem::advice::never;
  /// One line in our words: what was wrong and what to do. Holds no bound value,
  /// no key and no password.
  std::string message;
  native_error native;
  /// The attempts of this run whose COMMIT is in doubt; pass them to `store::resolve`.
  std::vector<attempt_id> attempts;
  /// Of a `lock_timeout`: it may have been the whole table that was waited for. Set by a session
  /// whose dialect otherwise knows that a claim waits for its identity only.
  bool wait_unnamed = false;
  friend bool operator==(error const&, error const&) = default;
};

/// True if the whole transaction may be tried again at once.
inline bool is_transient(error const& e) noexcept { return e.advice == advice::new_transaction; }

/// One line for a log: what, phase, certainty, advice, codes and `message`; nothing of the
/// server's text.
std::string describe(error const&);

template <class T = void>
using result = std::expected<T, error>;

/// An error about the caller's input: nothing was sent, the same call fails again.
std::unexpected<error> invalid_argument(std::string message);

}  // namespace idem::inline v1
