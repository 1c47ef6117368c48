// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string_view>

#include <idem/conformance/sql_subject.h>

// What users of an SQLite session can change, and a view that its owner changes.
namespace idem::inline v1::conformance::detail {

// Reading what is not committed is the other level there is, for a shared cache.
// https://sqlite.org/isolation.html
inline constexpr std::string_view isolation_on_sqlite =
    "SELECT CASE read_uncommitted WHEN 0 THEN 'serializable' ELSE 'read uncommitted' END"
    " FROM pragma_read_uncommitted";

inline constexpr std::array<std::string_view, 2> widen_on_sqlite{
    "DROP VIEW IF EXISTS {schema}.{prefix}altered",
    "CREATE VIEW {schema}.{prefix}altered AS"
    " SELECT id, amount, amount AS wider"
    " FROM {prefix}balance"};
inline constexpr std::array<std::string_view, 2> narrow_on_sqlite{
    "DROP VIEW IF EXISTS {schema}.{prefix}altered",
    "CREATE VIEW {schema}.{prefix}altered AS"
    " SELECT id, amount FROM {prefix}balance"};
// What <idem/sqlite.h> says of `reset`. A handle that keeps its lock would keep the observer out.
inline constexpr std::array<setting_statements, 8> sqlite_settings{
    {{{"query_only", true}, "PRAGMA query_only", "PRAGMA query_only = ON"},
     {{"foreign_keys", true}, "PRAGMA foreign_keys", "PRAGMA foreign_keys = OFF"},
     {{"synchronous", true}, "PRAGMA synchronous", "PRAGMA synchronous = OFF"},
     {{"ignore_check_constraints", true},
      "PRAGMA ignore_check_constraints",
      "PRAGMA ignore_check_constraints = ON"},
     {{"read_uncommitted", false}, "PRAGMA read_uncommitted", "PRAGMA read_uncommitted = ON"},
     {{"recursive_triggers", false}, "PRAGMA recursive_triggers", "PRAGMA recursive_triggers = ON"},
     {{"reverse_unordered_selects", false},
      "PRAGMA reverse_unordered_selects",
      "PRAGMA reverse_unordered_selects = ON"},
     {{"cache_size", false}, "PRAGMA cache_size", "PRAGMA cache_size = 1"}}};

}  // namespace idem::inline v1::conformance::detail
