// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string_view>

#include <idem/conformance/sql_subject.h>

#include "conformance/subjects/postgresql_settings.h"

// The suite's statements in PostgreSQL's SQL.
namespace idem::inline v1::conformance::detail {

// Until the transaction ends, so that a pooler keeps its hands off. The first number is "idem".
// https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS
inline constexpr std::string_view postgresql_occupy =
    "SELECT CASE WHEN pg_try_advisory_xact_lock(1768187245, hashtext('{schema}.{prefix}'))"
    " THEN 1 ELSE 0 END";
// Of another role's session only the process and the role are shown to everybody.
// https://www.postgresql.org/docs/15/view-pg-locks.html
inline constexpr std::string_view postgresql_occupier =
    "SELECT coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC',"
    " 'a time unknown'), 'process ' || a.pid || ' of the user ' || a.usename"
    " || coalesce(' at ' || host(a.client_addr), '')"
    " FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 1768187245 AND l.objsubid = 2"
    " AND l.objid = (hashtext('{schema}.{prefix}')::bigint & 4294967295)::oid"
    " AND a.datname = current_database()";

// clang-format off
inline constexpr std::array<std::string_view, 14> postgresql_create{
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}ledger (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tag text NOT NULL, nonce text NOT NULL, worker bigint NOT NULL, amount bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}balance (id integer PRIMARY KEY, amount bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}taken (id integer PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}contended (id integer PRIMARY KEY, amount bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}parent (id integer PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}child (parent integer NOT NULL REFERENCES {schema}.{prefix}parent (id) DEFERRABLE INITIALLY DEFERRED)",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}hidden (scope bytea NOT NULL, operation bytea NOT NULL, idem_key bytea NOT NULL)",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}skew (id integer PRIMARY KEY, amount bigint NOT NULL)",
    "INSERT INTO {schema}.{prefix}skew (id, amount) VALUES (1, 0), (2, 0) ON CONFLICT (id) DO NOTHING",
    "INSERT INTO {schema}.{prefix}balance (id, amount) VALUES (1, 0) ON CONFLICT (id) DO NOTHING",
    "INSERT INTO {schema}.{prefix}taken (id) VALUES (1) ON CONFLICT (id) DO NOTHING",
    "INSERT INTO {schema}.{prefix}contended (id, amount) VALUES (1, 0) ON CONFLICT (id) DO NOTHING",
    "CREATE OR REPLACE FUNCTION {schema}.{prefix}hide() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF EXISTS (SELECT 1 FROM {schema}.{prefix}hidden AS h WHERE h.scope = NEW.scope AND h.operation = NEW.operation AND h.idem_key = NEW.idem_key) THEN RETURN NULL; END IF; RETURN NEW; END'",
    "CREATE COLLATION IF NOT EXISTS {schema}.{prefix}folding (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"};
inline constexpr std::array<std::string_view, 6> postgresql_clear{
    "DROP TRIGGER IF EXISTS {prefix}hide ON {schema}.{prefix}record",
    "DELETE FROM {schema}.{prefix}hidden",
    "DELETE FROM {schema}.{prefix}child",
    "DELETE FROM {schema}.{prefix}ledger",
    "DELETE FROM {schema}.{prefix}record",
    "UPDATE {schema}.{prefix}balance SET amount = 0"};
// A trigger that returns NULL drops the insert without an error: a conflict with no row to see.
// https://www.postgresql.org/docs/15/trigger-definition.html
inline constexpr std::array<std::string_view, 3> postgresql_hide{
    "DELETE FROM {schema}.{prefix}hidden",
    "CREATE OR REPLACE TRIGGER {prefix}hide BEFORE INSERT ON {schema}.{prefix}record FOR EACH ROW EXECUTE FUNCTION {schema}.{prefix}hide()",
    "INSERT INTO {schema}.{prefix}hidden (scope, operation, idem_key) VALUES (?, ?, ?)"};
inline constexpr std::array<std::string_view, 2> postgresql_unhide{
    "DROP TRIGGER IF EXISTS {prefix}hide ON {schema}.{prefix}record",
    "DELETE FROM {schema}.{prefix}hidden"};
inline constexpr std::array<std::string_view, 3> postgresql_insert_null_key{
    "INSERT INTO {schema}.{prefix}record (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, state, response_status, response_headers, has_body, created_at_us) VALUES (NULL, 'a', 'b', decode(repeat('00', 16), 'hex'), 1, decode(repeat('00', 32), 'hex'), 0, 0, '', 0, 0)",
    "INSERT INTO {schema}.{prefix}record (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, state, response_status, response_headers, has_body, created_at_us) VALUES ('a', NULL, 'b', decode(repeat('00', 16), 'hex'), 1, decode(repeat('00', 32), 'hex'), 0, 0, '', 0, 0)",
    "INSERT INTO {schema}.{prefix}record (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, state, response_status, response_headers, has_body, created_at_us) VALUES ('a', 'b', NULL, decode(repeat('00', 16), 'hex'), 1, decode(repeat('00', 32), 'hex'), 0, 0, '', 0, 0)"};
inline constexpr subject_statements postgresql_statements{
    .create = postgresql_create,
    .clear = postgresql_clear,
    .append = "INSERT INTO {schema}.{prefix}ledger (tag, nonce, worker, amount) VALUES (?, ?, ?, ?)",
    .add = "UPDATE {schema}.{prefix}balance SET amount = amount + ? WHERE id = 1",
    .ledger = "SELECT tag, nonce, worker, amount FROM {schema}.{prefix}ledger ORDER BY seq",
    .balance = "SELECT amount FROM {schema}.{prefix}balance WHERE id = 1",
    .record_row = "SELECT * FROM {schema}.{prefix}record WHERE scope = ? AND operation = ? AND idem_key = ?",
    .record_count = "SELECT count(*) FROM {schema}.{prefix}record",
    .delete_record = "DELETE FROM {schema}.{prefix}record WHERE scope = ? AND operation = ? AND idem_key = ?",
    .break_constraint = "INSERT INTO {schema}.{prefix}taken (id) VALUES (1)",
    .break_transaction = "SELECT 1 / (SELECT amount - amount FROM {schema}.{prefix}balance WHERE id = 1)",
    .break_at_commit = "INSERT INTO {schema}.{prefix}child (parent) VALUES (42)",
    .commit = "COMMIT",
    .rollback = "ROLLBACK",
    .begin = "BEGIN",
    .collapses = "SELECT CASE WHEN ?::text = ?::text COLLATE {schema}.{prefix}folding THEN 1 ELSE 0 END",
    .insert_null_key = postgresql_insert_null_key,
    .hide = postgresql_hide,
    .unhide = postgresql_unhide,
    .isolation = "SELECT current_setting('transaction_isolation')",
    .settings = postgresql_settings,
    .widen = widen_on_postgresql,
    .narrow = narrow_on_postgresql,
    .read_altered = "SELECT * FROM {schema}.{prefix}altered"};
// clang-format on

}  // namespace idem::inline v1::conformance::detail
