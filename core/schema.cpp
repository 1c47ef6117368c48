// SPDX-License-Identifier: BSL-1.0
#include <idem/schema.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/store_core.h"

namespace idem::inline v1 {

namespace {

constexpr std::size_t longest_table_name = 14;  // "schema_version"

result<> check_identifier(std::string_view what, std::string_view text, std::size_t max_bytes) {
  bool const letters = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!letters || (!text.empty() && text.front() >= '0' && text.front() <= '9'))
    return invalid_argument("the " + std::string(what) +
                            " may hold letters, digits and underscores only and must not begin "
                            "with a digit");
  if (text.size() > max_bytes)
    return invalid_argument("the " + std::string(what) + " has " + std::to_string(text.size()) +
                            " bytes: at most " + std::to_string(max_bytes) + " are allowed");
  return {};
}

// The statements of a migration: lines that hold only `;` stand between them.
std::vector<std::string> split_statements(std::string_view text) {
  std::vector<std::string> statements(1);
  while (!text.empty()) {
    auto const end = text.find('\n');
    auto const line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == ";")
      statements.emplace_back();
    else
      statements.back().append(line).append("\n");
  }
  std::erase_if(statements, [](std::string const& s) {
    return s.find_first_not_of(" \n") == std::string::npos;
  });
  return statements;
}

result<rows> query(session& s, std::string_view text, table_names const& names,
                   call_limits const& limits, std::span<parameter const> parameters = {}) {
  std::string const sql = schema::render(text, names);
  statement const one{sql, parameters};
  auto answered = s.execute(std::span(&one, 1), limits);
  if (!answered)
    return detail::at(std::move(answered).error(), phase::schema, certainty::not_executed);
  return std::move(answered->front());
}

result<> apply(session& s, migration const& m, table_names const& names,
               call_limits const& limits) {
  for (auto const& text : split_statements(m.text)) {
    if (auto done = query(s, text, names, limits); !done)
      return std::unexpected(std::move(done).error());
  }
  std::array<parameter, 2> const both{m.version, detail::host_now_us()};
  auto const used = std::span(both).first(s.sql().facts.binds_clock ? 2 : 1);
  if (auto done = query(s, s.sql().schema.record_version, names, limits, used); !done)
    return std::unexpected(std::move(done).error());
  return {};
}

struct found_column {
  std::string type;
  bool nullable;
  std::int64_t key_position;
};
using found_columns = std::map<std::pair<std::string, std::string>, found_column>;

result<found_columns> read_columns(session& s, table_names const& names,
                                   call_limits const& limits) {
  auto answered = query(s, s.sql().schema.columns_found, names, limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  found_columns found;
  for (auto const& row : answered->values)
    found[{as_text(row[0]), as_text(row[1])}] = {as_text(row[2]), as_integer(row[3]) != 0,
                                                 as_integer(row[4])};
  return found;
}

void compare(expected_column const& wanted, found_column const& found, std::string const& name,
             std::vector<std::string>& breaches) {
  if (found.type != wanted.type)
    breaches.push_back(name + " has the type " + found.type + " instead of " +
                       std::string(wanted.type));
  if (found.nullable != wanted.nullable)
    breaches.push_back(name + (found.nullable ? " accepts NULL" : " refuses NULL"));
  if (found.key_position != wanted.key_position)
    breaches.push_back(name + " has place " + std::to_string(found.key_position) +
                       " in the primary key instead of " + std::to_string(wanted.key_position) +
                       " (0: not in it)");
}

std::vector<std::string> compare_columns(std::span<expected_column const> wanted,
                                         std::string const& prefix, found_columns found) {
  std::vector<std::string> breaches;
  std::vector<std::string> missing_tables;
  for (auto const& column : wanted) {
    std::string const table = prefix + std::string(column.table);
    auto const has_table =
        std::ranges::any_of(found, [&](auto const& entry) { return entry.first.first == table; });
    if (!has_table) {
      if (std::ranges::find(missing_tables, table) == missing_tables.end())
        missing_tables.push_back(table);
      continue;
    }
    std::string const name = table + "." + std::string(column.name);
    auto const place = found.find({table, std::string(column.name)});
    if (place == found.end())
      breaches.push_back(name + " is missing");
    else
      compare(column, place->second, name, breaches);
  }
  for (auto const& table : missing_tables) breaches.push_back("table " + table + " is missing");
  for (auto const& [key, column] : found) {
    bool const ours = std::ranges::any_of(wanted, [&](expected_column const& c) {
      return prefix + std::string(c.table) == key.first;
    });
    bool const known = std::ranges::any_of(wanted, [&](expected_column const& c) {
      return prefix + std::string(c.table) == key.first && c.name == key.second;
    });
    if (ours && !known)
      breaches.push_back(key.first + "." + key.second + " does not belong to idem's schema");
  }
  return breaches;
}

result<> check_schema_exists(session& s, table_names const& names, call_limits const& limits) {
  if (s.sql().schema.schema_exists.empty()) return {};
  auto found = query(s, s.sql().schema.schema_exists, names, limits);
  if (!found) return std::unexpected(std::move(found).error());
  if (!found->empty()) return {};
  error e;
  e.what = errc::schema_missing;
  e.phase = phase::schema;
  e.message = "the schema '" + names.schema +
              "' does not exist in this database: correct the name, or leave it out for '" +
              std::string(s.sql().schema.default_schema) + "'";
  return std::unexpected(std::move(e));
}

}  // namespace

namespace schema {

result<table_names> check_names(dialect const& d, table_names names) {
  if (names.schema.empty()) names.schema = d.schema.default_schema;
  std::string lower = names.schema;
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (!d.schema.private_schema.empty() && lower == d.schema.private_schema)
    return invalid_argument(
        "the schema name must not be one whose tables each connection has of "
        "its own: records would be seen by nobody else");
  auto const max_bytes = d.schema.max_identifier_bytes;
  if (auto ok = check_identifier("schema name", names.schema, max_bytes); !ok)
    return std::unexpected(std::move(ok).error());
  if (auto ok = check_identifier("table prefix", names.prefix, max_bytes - longest_table_name); !ok)
    return std::unexpected(std::move(ok).error());
  return names;
}

std::string render(std::string_view text, table_names const& names) {
  std::string out;
  out.reserve(text.size() + 32);
  while (!text.empty()) {
    if (text.starts_with("{schema}")) {
      out += names.schema;
      text.remove_prefix(8);
    } else if (text.starts_with("{prefix}")) {
      out += names.prefix;
      text.remove_prefix(8);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

result<std::string> print(dialect const& d, table_names wanted) {
  auto names = check_names(d, std::move(wanted));
  if (!names) return std::unexpected(std::move(names).error());
  std::string out;
  for (auto const& m : d.schema.migrations) {
    out.append("-- ").append(m.file).append("\n");
    for (auto const& text : split_statements(m.text)) {
      out += render(text, *names);
      while (out.ends_with('\n')) out.pop_back();
      out += ";\n";
    }
  }
  return out;
}

std::int64_t newest_version(dialect const& d) noexcept {
  return d.schema.migrations.empty() ? 0 : d.schema.migrations.back().version;
}

result<std::int64_t> installed_version(session& s, table_names wanted, call_limits const& limits) {
  auto names = check_names(s.sql(), std::move(wanted));
  if (!names) return std::unexpected(std::move(names).error());
  if (auto there = check_schema_exists(s, *names, limits); !there)
    return std::unexpected(std::move(there).error());
  auto exists = query(s, s.sql().schema.version_table_exists, *names, limits);
  if (!exists) return std::unexpected(std::move(exists).error());
  if (exists->empty()) return 0;
  auto version = query(s, s.sql().schema.version, *names, limits);
  if (!version) return std::unexpected(std::move(version).error());
  if (version->empty() || is_null((*version)[0][0])) return 0;
  return as_integer((*version)[0][0]);
}

result<> install(session& s, table_names wanted, call_limits const& limits) {
  auto names = check_names(s.sql(), std::move(wanted));
  if (!names) return std::unexpected(std::move(names).error());
  begin_options options;
  options.limits = limits;
  if (!options.limits.wait_limit) options.limits.wait_limit = std::chrono::seconds(30);
  auto tx = transaction::begin(s, options);
  if (!tx) return std::unexpected(std::move(tx).error());
  if (!s.sql().schema.lock.empty()) {
    if (auto locked = query(s, s.sql().schema.lock, *names, options.limits); !locked)
      return std::unexpected(std::move(locked).error());
  }
  // Read inside the transaction: another process may have installed while we waited.
  auto installed = installed_version(s, *names, limits);
  if (!installed) return std::unexpected(std::move(installed).error());
  if (*installed > newest_version(s.sql())) {
    error e;
    e.what = errc::schema_newer;
    e.phase = phase::schema;
    e.message = "idem's tables are of version " + std::to_string(*installed) +
                ", this library knows up to " + std::to_string(newest_version(s.sql())) +
                ": upgrade the library";
    return std::unexpected(std::move(e));
  }
  for (auto const& m : s.sql().schema.migrations) {
    if (m.version <= *installed) continue;
    if (auto applied = apply(s, m, *names, limits); !applied) return applied;
  }
  return tx->commit();
}

result<std::vector<std::string>> verify(session& s, table_names wanted, call_limits const& limits) {
  auto names = check_names(s.sql(), std::move(wanted));
  if (!names) return std::unexpected(std::move(names).error());
  auto installed = installed_version(s, *names, limits);
  if (!installed) return std::unexpected(std::move(installed).error());
  auto found = read_columns(s, *names, limits);
  if (!found) return std::unexpected(std::move(found).error());
  auto breaches = compare_columns(s.sql().schema.columns, names->prefix, std::move(*found));
  auto const newest = newest_version(s.sql());
  if (*installed != newest)
    breaches.push_back("the schema is of version " + std::to_string(*installed) + " instead of " +
                       std::to_string(newest));
  auto more = query(s, s.sql().schema.breaches, *names, limits);
  if (!more) return std::unexpected(std::move(more).error());
  for (auto const& row : more->values) breaches.push_back(as_text(row[0]));
  return breaches;
}

}  // namespace schema

}  // namespace idem::inline v1
