// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <idem/error.h>

namespace idem::inline v1 {

/// What one native error means, whatever the driver that reported it.
struct meaning {
  errc what = errc::statement_failed;
  idem::advice advice = idem::advice::never;
};

/// How a claim's statement tells that the identity is taken.
enum class claim_conflict : std::uint8_t {
  no_row,            ///< the insert succeeds and inserts nothing
  unique_violation,  ///< the insert fails with `errc::unique_violation`
};

/// What proves at the save that the claim's transaction is still the same one.
enum class transaction_witness : std::uint8_t {
  savepoint,  ///< a savepoint made right after the claim still exists
  save,       ///< the save's own statement checks it (a server transaction id)
};

/// Facts about an engine, each with its source beside the dialect's definition.
struct traits {
  claim_conflict conflict = claim_conflict::no_row;
  transaction_witness witness = transaction_witness::savepoint;
  /// The driver sends several statements in one round trip: the claim and the winner's read
  /// travel together.
  bool pipelines = false;
  /// The save fails in the server unless exactly one row matched, so that COMMIT may travel
  /// with it.
  bool save_fails_in_server = false;
  /// After a statement failed the transaction takes nothing but a rollback, to a savepoint or
  /// of all.
  bool failed_statement_aborts_transaction = false;
  /// A committed read outside a transaction is cheaper than a claim, so it is tried first.
  bool look_before_claim = false;
  /// The engine has no clock of its own: the host's time is bound as the last parameter of
  /// the claim and the save.
  bool binds_clock = false;
  /// A claim that timed out waited for this identity, not for some other lock.
  bool claim_wait_names_identity = true;
  /// A claim that inserted proves that no older transaction can still commit this identity.
  bool claim_proves_absence = true;
};

/// The protocol's statements: whole literals, one constant each. `{schema}` and `{prefix}`
/// stand for validated identifiers and are filled in once, when a store is opened.
///
/// Parameters are bound in the order given here; a dialect may number its placeholders.
struct statements {
  /// scope, operation, key, attempt, fingerprint version, fingerprint, canonical request or
  /// NULL [, now]
  std::string_view claim;
  /// scope, operation, key. Returns the columns of `record_column`, sees committed rows.
  std::string_view find;
  /// As `find`, inside the claim's transaction after a conflict: sees the winner's committed
  /// row under every isolation level.
  std::string_view read_winner;
  /// state, status, headers, body or NULL, has body, retention in microseconds, scope,
  /// operation, key, attempt [, now]. Matches only an uncompleted claim of that attempt.
  std::string_view save;
  /// scope, operation, key, attempt. Deletes an uncompleted claim of that attempt.
  std::string_view discard;
  std::string_view savepoint;
  std::string_view rollback_to_savepoint;
  std::string_view release_savepoint;
  /// A savepoint of another name around a claim in the caller's transaction, so that one that
  /// waited in vain is undone alone. Only where a failed statement aborts the transaction.
  std::string_view guard;
  std::string_view rollback_to_guard;
  std::string_view release_guard;
  /// As `claim`, but fails with `unique_violation` where the key is taken, so that what was sent
  /// behind it is not run. Only where sessions can `run_whole`.
  std::string_view claim_or_fail = {};
  /// scope, operation, key, attempt. As `find`, of another attempt only.
  std::string_view find_of_another = {};
};

/// The columns that `find` and `read_winner` return, in this order.
enum class record_column : std::uint8_t {
  attempt,
  fingerprint_version,
  fingerprint,
  canonical_request,
  state,
  status,
  headers,
  body,
  has_body,
  created_at_us,
  completed_at_us,
  expires_at_us,
};

/// One reviewed DDL file. Statements are separated by lines that hold only `;`.
struct migration {
  std::int64_t version;
  std::string_view file;
  std::string_view text;
};

/// A column as it must be, in the engine's own type name.
struct expected_column {
  std::string_view table;  ///< without prefix
  std::string_view name;
  std::string_view type;
  bool nullable;
  std::int64_t key_position;  ///< 1-based place in the primary key, 0 outside it
};

struct schema_statements {
  std::span<migration const> migrations;
  std::span<expected_column const> columns;
  std::string_view default_schema;
  /// A schema whose tables are each connection's own, in lower case: refused.
  std::string_view private_schema;
  /// Largest identifier the engine takes, in bytes.
  std::size_t max_identifier_bytes;
  /// Keeps other installers of the same tables out until the transaction ends; empty where
  /// beginning it does.
  std::string_view lock;
  /// One row if the version table exists.
  std::string_view version_table_exists;
  /// The installed version.
  std::string_view version;
  /// version, now: records a version if it is not yet recorded.
  std::string_view record_version;
  /// table, name, type, nullable (0/1), key position (0 if none): one row a column of the
  /// tables that carry the prefix.
  std::string_view columns_found;
  /// One row of text a breach that only this engine can have (a table that is not STRICT, a
  /// trigger on a table of ours).
  std::string_view breaches;
  /// One row if the schema exists; empty where the statements above do without one.
  std::string_view schema_exists = {};
};

/// One engine, as a value: text, facts and the meaning of its errors. No I/O, no vendor
/// header. Copyable; everything it points to must outlive every store made from it.
struct dialect {
  std::string_view name;
  statements sql;
  traits facts;
  meaning (*classify)(native_error const&) noexcept = nullptr;
  schema_statements schema;
};

}  // namespace idem::inline v1
