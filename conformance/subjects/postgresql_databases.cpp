// SPDX-License-Identifier: BSL-1.0
#include "conformance/subjects/postgresql_databases.h"

#include <idem/conformance/kept_statement.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace idem::inline v1::conformance::detail {

namespace {

constexpr std::string_view can_create_sql =
    "SELECT CASE WHEN (r.rolsuper OR r.rolcreatedb)"
    " AND current_setting('server_version_num')::integer >= 150000 THEN 1 ELSE 0 END"
    " FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user";
// A default collation must be deterministic: it orders otherwise, and takes nothing for equal.
// https://www.postgresql.org/docs/15/sql-createdatabase.html
constexpr std::string_view create_sql =
    "CREATE DATABASE {schema} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu"
    " ICU_LOCALE 'tr-u-co-standard' LC_COLLATE 'C' LC_CTYPE 'C'";
constexpr std::string_view drop_sql = "DROP DATABASE IF EXISTS {schema} WITH (FORCE)";
// The columns' names are not those of every version.
constexpr std::string_view collation_sql =
    "SELECT concat_ws(' ', j ->> 'datlocprovider', j ->> 'datcollate',"
    " coalesce(j ->> 'datlocale', j ->> 'daticulocale'))"
    " FROM (SELECT to_jsonb(d) AS j FROM pg_catalog.pg_database AS d"
    " WHERE d.datname = current_database()) AS one";
constexpr std::string_view read_sql =
    "SELECT scope, operation, idem_key, attempt, fingerprint_version, fingerprint,"
    " canonical_request, state, response_status, response_headers, response_body, has_body,"
    " created_at_us, completed_at_us, expires_at_us FROM {schema}.{prefix}record";
constexpr std::string_view write_sql =
    "INSERT INTO {schema}.{prefix}record (scope, operation, idem_key, attempt,"
    " fingerprint_version, fingerprint, canonical_request, state, response_status,"
    " response_headers, response_body, has_body, created_at_us, completed_at_us, expires_at_us)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

result<rows> query(session& s, std::string const& sql, std::span<parameter const> parameters = {}) {
  statement const one{sql, parameters};
  auto answered = s.execute(std::span(&one, 1), {});
  if (!answered) return std::unexpected(std::move(answered).error());
  return std::move(answered->front());
}

result<> run(session& s, std::string const& sql, std::span<parameter const> parameters = {}) {
  auto answered = query(s, sql, parameters);
  if (!answered) return std::unexpected(std::move(answered).error());
  return {};
}

}  // namespace

result<bool> can_create_database(session& s) {
  auto answered = query(s, std::string(can_create_sql));
  if (!answered) return std::unexpected(std::move(answered).error());
  return !answered->empty() && as_integer((*answered)[0][0]) == 1;
}

result<> create_database(session& s, std::string const& name) {
  if (auto dropped = drop_database(s, name); !dropped) return dropped;
  return run(s, schema::render(create_sql, {name, ""}));
}

result<> drop_database(session& s, std::string const& name) {
  return run(s, schema::render(drop_sql, {name, ""}));
}

result<> copy_records(session& from, session& to, table_names const& given) {
  auto names = schema::check_names(from.sql(), given);
  if (!names) return std::unexpected(std::move(names).error());
  auto all = query(from, schema::render(read_sql, *names));
  if (!all) return std::unexpected(std::move(all).error());
  std::string const insert = schema::render(write_sql, *names);
  for (auto const& row : all->values) {
    std::vector<parameter> values;
    for (auto const& v : row) values.push_back(as_parameter(v));
    if (auto written = run(to, insert, values); !written) return written;
  }
  return {};
}

result<std::string> default_collation_of(session& s) {
  auto answered = query(s, std::string(collation_sql));
  if (!answered) return std::unexpected(std::move(answered).error());
  return as_text((*answered)[0][0]);
}

// A later word wins. https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
namespace {

// A parameter behind the '?' outweighs what stands before it.
std::string with(std::string const& conninfo, std::string const& parameters) {
  return conninfo + (conninfo.find('?') == std::string::npos ? "?" : "&") + parameters;
}

}  // namespace

std::string with_port(std::string const& conninfo, std::uint16_t port) {
  return with(conninfo, "host=127.0.0.1&port=" + std::to_string(port));
}

std::string with_database(std::string const& conninfo, std::string const& name) {
  return with(conninfo, "dbname=" + name);
}

}  // namespace idem::inline v1::conformance::detail
