// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string_view>

#include <idem/conformance/sql_subject.h>

// What users of a PostgreSQL session can change, and a view that its owner changes.
namespace idem::inline v1::conformance::detail {

// Another set of columns under the same text: 0A000 for a statement that was prepared before.
inline constexpr std::array<std::string_view, 2> widen_on_postgresql{
    "DROP VIEW IF EXISTS {schema}.{prefix}altered",
    "CREATE VIEW {schema}.{prefix}altered AS"
    " SELECT id, amount, amount AS wider"
    " FROM {schema}.{prefix}balance"};
inline constexpr std::array<std::string_view, 2> narrow_on_postgresql{
    "DROP VIEW IF EXISTS {schema}.{prefix}altered",
    "CREATE VIEW {schema}.{prefix}altered AS"
    " SELECT id, amount FROM {schema}.{prefix}balance"};
inline constexpr std::array<setting_statements, 16> postgresql_settings{
    {{{"default_transaction_isolation", true},
      "SELECT current_setting('default_transaction_isolation')",
      "SET default_transaction_isolation = 'serializable'"},
     {{"default_transaction_read_only", true},
      "SELECT current_setting('default_transaction_read_only')",
      "SET default_transaction_read_only = on"},
     {{"default_transaction_deferrable", true},
      "SELECT current_setting('default_transaction_deferrable')",
      "SET default_transaction_deferrable = on"},
     {{"search_path", true}, "SELECT current_setting('search_path')", "SET search_path = pg_temp"},
     {{"TimeZone", true}, "SELECT current_setting('TimeZone')", "SET TimeZone = 'Pacific/Chatham'"},
     {{"DateStyle", true}, "SELECT current_setting('DateStyle')", "SET DateStyle = 'German, DMY'"},
     {{"IntervalStyle", true},
      "SELECT current_setting('IntervalStyle')",
      "SET IntervalStyle = 'sql_standard'"},
     {{"lock_timeout", true}, "SELECT current_setting('lock_timeout')", "SET lock_timeout = '1ms'"},
     {{"statement_timeout", true},
      "SELECT current_setting('statement_timeout')",
      "SET statement_timeout = '60s'"},
     {{"bytea_output", true},
      "SELECT current_setting('bytea_output')",
      "SET bytea_output = 'escape'"},
     {{"extra_float_digits", true},
      "SELECT current_setting('extra_float_digits')",
      "SET extra_float_digits = -15"},
     {{"standard_conforming_strings", true},
      "SELECT current_setting('standard_conforming_strings')",
      "SET standard_conforming_strings = off"},
     {{"client_encoding", true},
      "SELECT current_setting('client_encoding')",
      "SET client_encoding = 'LATIN1'"},
     {{"row_security", true}, "SELECT current_setting('row_security')", "SET row_security = off"},
     {{"synchronous_commit", true},
      "SELECT current_setting('synchronous_commit')",
      "SET synchronous_commit = off"},
     {{"transform_null_equals", true},
      "SELECT current_setting('transform_null_equals')",
      "SET transform_null_equals = on"}}};

}  // namespace idem::inline v1::conformance::detail
