// SPDX-License-Identifier: BSL-1.0
// SQLite's statements and facts. STRICT and pragma_table_list need 3.37.
#include "idem_embedded_sqlite.h"

#include <idem/sqlite.h>

#include "dialects/sqlite/errors.h"

namespace idem::inline v1::sqlite {

namespace {

// DO NOTHING names its target, so that it means the primary key only. Never OR IGNORE: that
// skips a row for NOT NULL and CHECK as well. https://sqlite.org/lang_conflict.html
constexpr std::string_view claim_sql =
    "INSERT INTO {schema}.{prefix}record"
    " (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, canonical_request,"
    " state, response_status, response_headers, has_body, created_at_us)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, x'', 0, ?8)"
    " ON CONFLICT (scope, operation, idem_key) DO NOTHING";

// Also after a conflict: BEGIN IMMEDIATE holds the only write lock, so what is there is
// committed. https://sqlite.org/isolation.html
constexpr std::string_view find_sql =
    "SELECT attempt, fingerprint_version, fingerprint, canonical_request, state,"
    " response_status, response_headers, response_body, has_body, created_at_us,"
    " completed_at_us, expires_at_us"
    " FROM {schema}.{prefix}record WHERE scope = ?1 AND operation = ?2 AND idem_key = ?3";

constexpr std::string_view save_sql =
    "UPDATE {schema}.{prefix}record SET state = ?1, response_status = ?2, response_headers = ?3,"
    " response_body = ?4, has_body = ?5, completed_at_us = ?11, expires_at_us = ?11 + ?6"
    " WHERE scope = ?7 AND operation = ?8 AND idem_key = ?9 AND attempt = ?10 AND state = 0";

constexpr std::string_view discard_sql =
    "DELETE FROM {schema}.{prefix}record"
    " WHERE scope = ?1 AND operation = ?2 AND idem_key = ?3 AND attempt = ?4 AND state = 0";

// Inside BEGIN a RELEASE never commits. https://sqlite.org/lang_savepoint.html
constexpr std::string_view savepoint_sql = "SAVEPOINT idem_claim_d41f8a";
constexpr std::string_view rollback_to_savepoint_sql = "ROLLBACK TO idem_claim_d41f8a";
constexpr std::string_view release_savepoint_sql = "RELEASE idem_claim_d41f8a";

constexpr std::string_view version_table_exists_sql =
    "SELECT 1 FROM {schema}.sqlite_schema"
    " WHERE type = 'table' AND name = '{prefix}schema_version' COLLATE NOCASE";

constexpr std::string_view version_sql =
    "SELECT coalesce(max(version), 0) FROM {schema}.{prefix}schema_version";

constexpr std::string_view record_version_sql =
    "INSERT INTO {schema}.{prefix}schema_version (version, installed_at_us) VALUES (?1, ?2)"
    " ON CONFLICT (version) DO NOTHING";

// A table-valued pragma takes the table and, as its hidden last column, the schema.
// https://sqlite.org/pragma.html#pragfunc
constexpr std::string_view columns_found_sql =
    "SELECT '{prefix}' || lower(substr(t.name, length('{prefix}') + 1)), lower(c.name),"
    " upper(c.type), c.\"notnull\" = 0, c.pk"
    " FROM pragma_table_list AS t, pragma_table_xinfo(t.name, t.schema) AS c"
    " WHERE t.schema = '{schema}' COLLATE NOCASE AND t.type = 'table'"
    " AND t.name COLLATE NOCASE IN ('{prefix}record', '{prefix}schema_version')"
    " ORDER BY t.name, c.cid";

// A temporary trigger fires for a table of another schema too, for this connection only.
// https://sqlite.org/lang_createtrigger.html#temp_trig
constexpr std::string_view breaches_sql =
    "WITH ours AS (SELECT name, type, wr, strict FROM pragma_table_list"
    " WHERE schema = '{schema}' COLLATE NOCASE"
    " AND name COLLATE NOCASE IN ('{prefix}record', '{prefix}schema_version'))"
    " SELECT name || ' is a ' || type || ', not a table' FROM ours WHERE type <> 'table'"
    " UNION ALL SELECT name || ' is not STRICT' FROM ours WHERE type = 'table' AND strict = 0"
    " UNION ALL SELECT name || ' is not WITHOUT ROWID' FROM ours"
    " WHERE type = 'table' AND wr = 0 AND name = '{prefix}record' COLLATE NOCASE"
    " UNION ALL SELECT tbl_name || ' has the trigger ' || name FROM {schema}.sqlite_schema"
    " WHERE type = 'trigger'"
    " AND tbl_name COLLATE NOCASE IN ('{prefix}record', '{prefix}schema_version')"
    " UNION ALL SELECT tbl_name || ' has the temporary trigger ' || name FROM temp.sqlite_schema"
    " WHERE type = 'trigger'"
    " AND tbl_name COLLATE NOCASE IN ('{prefix}record', '{prefix}schema_version')"
    " UNION ALL SELECT ours.name || ' has the unique index ' || i.name"
    " FROM ours, pragma_index_list(ours.name, '{schema}') AS i"
    " WHERE i.\"unique\" = 1 AND i.origin <> 'pk'";

// Every other statement would fail with "unknown database".
constexpr std::string_view schema_exists_sql =
    "SELECT 1 FROM pragma_database_list WHERE name = '{schema}' COLLATE NOCASE";

constexpr expected_column columns[] = {
    {"record", "scope", "BLOB", false, 1},
    {"record", "operation", "BLOB", false, 2},
    {"record", "idem_key", "BLOB", false, 3},
    {"record", "attempt", "BLOB", false, 0},
    {"record", "fingerprint_version", "INTEGER", false, 0},
    {"record", "fingerprint", "BLOB", false, 0},
    {"record", "canonical_request", "BLOB", true, 0},
    {"record", "state", "INTEGER", false, 0},
    {"record", "response_status", "INTEGER", false, 0},
    {"record", "response_headers", "BLOB", false, 0},
    {"record", "response_body", "BLOB", true, 0},
    {"record", "has_body", "INTEGER", false, 0},
    {"record", "created_at_us", "INTEGER", false, 0},
    {"record", "completed_at_us", "INTEGER", true, 0},
    {"record", "expires_at_us", "INTEGER", true, 0},
    {"schema_version", "version", "INTEGER", false, 1},
    {"schema_version", "installed_at_us", "INTEGER", false, 0},
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
};

constexpr traits facts{
    // The insert of a taken key succeeds without a row. https://sqlite.org/lang_upsert.html
    .conflict = claim_conflict::no_row,
    // There is no transaction id to ask for.
    .witness = transaction_witness::savepoint,
    // In-process: there is no round trip to save.
    .pipelines = false,
    .save_fails_in_server = false,
    // A read takes no write lock, and there is one for the whole file. https://sqlite.org/wal.html
    .look_before_claim = true,
    // The clock of SQL has milliseconds before 3.42 only as text: the host's is the same one.
    .binds_clock = true,
    // SQLITE_BUSY is any writer of the file. https://sqlite.org/rescode.html#busy
    .claim_wait_names_identity = false,
    // The write lock is taken at BEGIN IMMEDIATE: an older transaction has ended by then.
    // https://sqlite.org/lang_transaction.html#immediate
    // Where the WAL could not be synced at COMMIT, its last frames stay in the file until another
    // commit writes over them, and a recovery takes them for committed: a claim that inserts and
    // is rolled back proves nothing. https://sqlite.org/walformat.html 4.3
    .claim_proves_absence = false,
};

dialect make() {
  static migration const migrations[] = {
      {1, "0001_record.sql", embedded::sqlite_0001_record},
  };
  return {
      .name = "sqlite",
      .sql = sql,
      .facts = facts,
      .classify = detail::classify,
      .schema = {.migrations = migrations,
                 .columns = columns,
                 .default_schema = "main",
                 .private_schema = "temp",
                 // SQLite has no limit of its own; this keeps a name readable.
                 .max_identifier_bytes = 128,
                 .version_table_exists = version_table_exists_sql,
                 .version = version_sql,
                 .record_version = record_version_sql,
                 .columns_found = columns_found_sql,
                 .breaches = breaches_sql,
                 .schema_exists = schema_exists_sql},
  };
}

}  // namespace

dialect const& dialect_value() noexcept {
  static dialect const value = make();
  return value;
}

}  // namespace idem::inline v1::sqlite
