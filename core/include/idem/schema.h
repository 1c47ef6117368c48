// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <idem/dialect.h>
#include <idem/error.h>
#include <idem/session.h>

namespace idem::inline v1 {

/// Where idem's tables are. Letters, digits and underscores, not beginning with a digit.
struct table_names {
  std::string schema;  ///< empty: the dialect's default
  std::string prefix = "idem_";
};

namespace schema {

/// Errors: `invalid_argument`, naming the rule.
[[nodiscard]] result<table_names> check_names(dialect const&, table_names);

/// `{schema}` and `{prefix}` filled in. The names must have passed `check_names`.
std::string render(std::string_view text, table_names const&);

/// The DDL of every version, in order, as a reviewer or another migration tool wants it.
[[nodiscard]] result<std::string> print(dialect const&, table_names);

/// The newest version this library installs and understands.
std::int64_t newest_version(dialect const&) noexcept;

/// The installed version; 0 if there are no tables.
[[nodiscard]] result<std::int64_t> installed_version(session&, table_names,
                                                     call_limits const& = {});

/// Brings the tables to the newest version. Does nothing where they are; safe to run by
/// several processes at once. Errors: `schema_newer`, and what the DDL gives.
[[nodiscard]] result<> install(session&, table_names, call_limits const& = {});

/// What differs from the schema as it must be, one sentence each; empty if nothing does.
[[nodiscard]] result<std::vector<std::string>> verify(session&, table_names,
                                                      call_limits const& = {});

}  // namespace schema

}  // namespace idem::inline v1
