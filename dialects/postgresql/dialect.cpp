// SPDX-License-Identifier: BSL-1.0
// PostgreSQL's statements and facts. pg_current_xact_id and xid8 need 13.
#include "idem_embedded_postgresql.h"

#include <idem/postgresql.h>

#include "dialects/postgresql/errors.h"

namespace idem::inline v1::postgresql {

namespace {

// now() is the transaction's start; the statement's own is when the server got it.
// https://www.postgresql.org/docs/15/functions-datetime.html#FUNCTIONS-DATETIME-CURRENT
// DO NOTHING names its target, so that it means the primary key only. Above READ COMMITTED it
// fails with 40001 where the winner is not in the snapshot.
// https://www.postgresql.org/docs/15/transaction-iso.html
constexpr std::string_view claim_sql =
    "INSERT INTO {schema}.{prefix}record"
    " (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, canonical_request,"
    " state, response_status, response_headers, has_body, created_at_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, ''::bytea, 0,"
    " (extract(epoch FROM pg_catalog.statement_timestamp()) * 1000000)::bigint)"
    " ON CONFLICT (scope, operation, idem_key) DO NOTHING";

// A new statement sees what was committed when it began, the winner's row too. One statement
// that inserts and reads would not.
// https://www.postgresql.org/docs/15/transaction-iso.html#XACT-READ-COMMITTED
constexpr std::string_view find_sql =
    "SELECT attempt, fingerprint_version, fingerprint, canonical_request, state,"
    " response_status, response_headers, response_body, has_body, created_at_us,"
    " completed_at_us, expires_at_us"
    " FROM {schema}.{prefix}record WHERE scope = $1 AND operation = $2 AND idem_key = $3";

// The same without the last line: a taken key is 23505, which skips the rest of the pipeline.
constexpr std::string_view claim_or_fail_sql =
    "INSERT INTO {schema}.{prefix}record"
    " (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, canonical_request,"
    " state, response_status, response_headers, has_body, created_at_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, ''::bytea, 0,"
    " (extract(epoch FROM pg_catalog.statement_timestamp()) * 1000000)::bigint)";

constexpr std::string_view find_of_another_sql =
    "SELECT attempt, fingerprint_version, fingerprint, canonical_request, state,"
    " response_status, response_headers, response_body, has_body, created_at_us,"
    " completed_at_us, expires_at_us"
    " FROM {schema}.{prefix}record WHERE scope = $1 AND operation = $2 AND idem_key = $3"
    " AND attempt <> $4";

// A row that is visible and whose writer is in progress was written by this transaction:
// by itself, or (second line) by a subtransaction of it, whose id is 32 bits of an id with the
// same epoch. A failure in the server keeps a COMMIT behind it from being obeyed;
// width_bucket with no bucket is 2201G, which nothing else here can raise.
// https://www.postgresql.org/docs/15/functions-info.html#FUNCTIONS-PG-SNAPSHOT
constexpr std::string_view save_sql =
    "WITH saved AS (UPDATE {schema}.{prefix}record SET state = $1, response_status = $2,"
    " response_headers = $3, response_body = $4, has_body = $5,"
    " completed_at_us = (extract(epoch FROM pg_catalog.statement_timestamp()) * 1000000)::bigint,"
    " expires_at_us = (extract(epoch FROM pg_catalog.statement_timestamp()) * 1000000)::bigint + $6"
    " WHERE scope = $7 AND operation = $8 AND idem_key = $9 AND attempt = $10 AND state = 0"
    " AND (xmin = pg_catalog.pg_current_xact_id_if_assigned()::xid"
    " OR pg_catalog.pg_xact_status((pg_catalog.pg_current_xact_id_if_assigned()::text::bigint / "
    "4294967296"
    " * 4294967296 + xmin::text::bigint)::text::xid8) = 'in progress') RETURNING 1)"
    " SELECT pg_catalog.width_bucket(1::float8, 0::float8, 2::float8, "
    "pg_catalog.count(*)::integer) FROM saved";

constexpr std::string_view discard_sql =
    "DELETE FROM {schema}.{prefix}record"
    " WHERE scope = $1 AND operation = $2 AND idem_key = $3 AND attempt = $4 AND state = 0";

// Outside a transaction none of them is accepted. After an error ROLLBACK TO is.
// https://www.postgresql.org/docs/15/sql-rollback-to.html
constexpr std::string_view savepoint_sql = "SAVEPOINT idem_claim_d41f8a";
constexpr std::string_view rollback_to_savepoint_sql = "ROLLBACK TO SAVEPOINT idem_claim_d41f8a";
constexpr std::string_view release_savepoint_sql = "RELEASE SAVEPOINT idem_claim_d41f8a";
constexpr std::string_view guard_sql = "SAVEPOINT idem_guard_d41f8a";
constexpr std::string_view rollback_to_guard_sql = "ROLLBACK TO SAVEPOINT idem_guard_d41f8a";
constexpr std::string_view release_guard_sql = "RELEASE SAVEPOINT idem_guard_d41f8a";

// CREATE TABLE IF NOT EXISTS by two sessions at once can fail with 23505 of pg_type.
constexpr std::string_view lock_sql =
    "SELECT pg_advisory_xact_lock(hashtextextended("
    "'idem ' || lower('{schema}.{prefix}' COLLATE \"C\"), 0))";

// Names without quotation marks are folded to lower case, ASCII by ASCII: not as the database's
// collation has it, by which Turkish has another i.
// https://www.postgresql.org/docs/15/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS
constexpr std::string_view version_table_exists_sql =
    "SELECT 1 FROM pg_catalog.pg_class AS c"
    " JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE n.nspname = lower('{schema}' COLLATE \"C\")"
    " AND c.relname = lower('{prefix}schema_version' COLLATE \"C\")"
    " AND c.relkind IN ('r', 'p')";

constexpr std::string_view version_sql =
    "SELECT coalesce(max(version), 0) FROM {schema}.{prefix}schema_version";

constexpr std::string_view record_version_sql =
    "INSERT INTO {schema}.{prefix}schema_version (version, installed_at_us)"
    " VALUES ($1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)"
    " ON CONFLICT (version) DO NOTHING";

constexpr std::string_view columns_found_sql =
    "SELECT '{prefix}' || substr(c.relname, length('{prefix}') + 1), a.attname::text,"
    " upper(format_type(a.atttypid, a.atttypmod) COLLATE \"C\"),"
    " CASE WHEN a.attnotnull THEN 0 ELSE 1 END,"
    " coalesce(array_position(k.conkey, a.attnum), 0)"
    " FROM pg_catalog.pg_class AS c"
    " JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
    " JOIN pg_catalog.pg_attribute AS a"
    " ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " LEFT JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid AND k.contype = 'p'"
    " WHERE n.nspname = lower('{schema}' COLLATE \"C\") AND c.relkind IN ('r', 'p')"
    " AND c.relname IN (lower('{prefix}record' COLLATE \"C\"),"
    " lower('{prefix}schema_version' COLLATE \"C\"))"
    " ORDER BY c.relname, a.attnum";

// A deferrable primary key is no arbiter of ON CONFLICT; an unlogged table is empty after a crash.
// https://www.postgresql.org/docs/15/sql-createtable.html
constexpr std::string_view breaches_sql =
    "WITH ours AS (SELECT c.oid, c.relname, c.relkind, c.relpersistence, c.relrowsecurity"
    " FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE n.nspname = lower('{schema}' COLLATE \"C\")"
    " AND c.relname IN (lower('{prefix}record' COLLATE \"C\"),"
    " lower('{prefix}schema_version' COLLATE \"C\")))"
    " SELECT relname || ' is not an ordinary table' FROM ours WHERE relkind <> 'r'"
    " UNION ALL SELECT relname || ' is not logged: its rows are lost in a crash' FROM ours"
    " WHERE relkind = 'r' AND relpersistence <> 'p'"
    " UNION ALL SELECT relname || ' has row level security' FROM ours WHERE relrowsecurity"
    " UNION ALL SELECT ours.relname || ' has the trigger ' || t.tgname FROM ours"
    " JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = ours.oid AND NOT t.tgisinternal"
    " UNION ALL SELECT ours.relname || ' has the rule ' || r.rulename FROM ours"
    " JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = ours.oid WHERE ours.relkind = 'r'"
    " UNION ALL SELECT ours.relname || ' has a deferrable primary key' FROM ours"
    " JOIN pg_catalog.pg_constraint AS k ON k.conrelid = ours.oid AND k.contype = 'p'"
    " WHERE k.condeferrable"
    " UNION ALL SELECT ours.relname || ' has the unique index ' || i.relname FROM ours"
    " JOIN pg_catalog.pg_index AS x ON x.indrelid = ours.oid AND x.indisunique"
    " AND NOT x.indisprimary JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid";

constexpr expected_column columns[] = {
    {"record", "scope", "BYTEA", false, 1},
    {"record", "operation", "BYTEA", false, 2},
    {"record", "idem_key", "BYTEA", false, 3},
    {"record", "attempt", "BYTEA", false, 0},
    {"record", "fingerprint_version", "INTEGER", false, 0},
    {"record", "fingerprint", "BYTEA", false, 0},
    {"record", "canonical_request", "BYTEA", true, 0},
    {"record", "state", "SMALLINT", false, 0},
    {"record", "response_status", "INTEGER", false, 0},
    {"record", "response_headers", "BYTEA", false, 0},
    {"record", "response_body", "BYTEA", true, 0},
    {"record", "has_body", "SMALLINT", false, 0},
    {"record", "created_at_us", "BIGINT", false, 0},
    {"record", "completed_at_us", "BIGINT", true, 0},
    {"record", "expires_at_us", "BIGINT", true, 0},
    {"schema_version", "version", "BIGINT", false, 1},
    {"schema_version", "installed_at_us", "BIGINT", false, 0},
};

constexpr statements sql{
    .claim = claim_sql,
    .find = find_sql,
    .read_winner = find_sql,
    .save = save_sql,
    .discard = discard_sql,
    .savepoint = savepoint_sql,
    .rollback_to_savepoint = rollback_to_savepoint_sql,
    .release_savepoint = release_savepoint_sql,
    .guard = guard_sql,
    .rollback_to_guard = rollback_to_guard_sql,
    .release_guard = release_guard_sql,
    .claim_or_fail = claim_or_fail_sql,
    .find_of_another = find_of_another_sql,
};

constexpr traits facts{
    // The insert of a taken key succeeds without a row.
    // https://www.postgresql.org/docs/15/sql-insert.html#SQL-ON-CONFLICT
    .conflict = claim_conflict::no_row,
    // The row's xmin, see the save.
    .witness = transaction_witness::save,
    // https://www.postgresql.org/docs/15/libpq-pipeline-mode.html
    .pipelines = true,
    .save_fails_in_server = true,
    // 25P02 https://www.postgresql.org/docs/15/errcodes-appendix.html
    .failed_statement_aborts_transaction = true,
    // The claim is one round trip, and so is a look.
    .look_before_claim = false,
    .binds_clock = false,
    // The insert waits for the transaction that holds the key in the unique index.
    // https://www.postgresql.org/docs/15/index-unique-checks.html
    // A wait for a lock on the whole table is told apart by the session.
    .claim_wait_names_identity = true,
    .claim_proves_absence = true,
};

dialect make() {
  static migration const migrations[] = {
      {1, "0001_record.sql", embedded::postgresql_0001_record},
  };
  return {
      .name = "postgresql",
      .sql = sql,
      .facts = facts,
      .classify = detail::classify,
      .schema = {.migrations = migrations,
                 .columns = columns,
                 .default_schema = "public",
                 .private_schema = "pg_temp",
                 // NAMEDATALEN - 1: a longer name would be cut.
                 // https://www.postgresql.org/docs/15/sql-syntax-lexical.html
                 .max_identifier_bytes = 63,
                 .lock = lock_sql,
                 .version_table_exists = version_table_exists_sql,
                 .version = version_sql,
                 .record_version = record_version_sql,
                 .columns_found = columns_found_sql,
                 .breaches = breaches_sql},
  };
}

}  // namespace

dialect const& dialect_value() noexcept {
  static dialect const value = make();
  return value;
}

}  // namespace idem::inline v1::postgresql
