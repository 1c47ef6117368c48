// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <CLI/App.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <idem/error.h>
#include <idem/session.h>

namespace idem::tools {

/// Exit codes of every command: 0 done or pass, 1 fail (or: verify found something), 2 vacuous,
/// 3 could not run.
inline constexpr int could_not_run = 3;

/// Prints one line and gives `could_not_run`.
int complain(error const&);
int complain(std::string_view what);

/// Whether a database that is a file may be made.
enum class missing_file : std::uint8_t { refused, made };

/// One session to a target URL. Errors: `configuration` for an unknown scheme,
/// `connection_failed` ("no such database") for a file that is not there and may not be made, and
/// what connecting gives.
result<std::unique_ptr<session>> open_target(std::string_view url, missing_file);

/// What stands before a URL's first ':', in lower case, as the library reads it.
std::string scheme_of(std::string_view url);

/// The dialect of an engine's name, in any case. Errors: `configuration`, naming the engines there
/// are.
result<dialect const*> find_dialect(std::string_view engine);

/// Each adds its subcommands; a chosen one stores what is to be run.
void add_schema_commands(CLI::App&, std::function<int()>& chosen);
void add_settle_command(CLI::App&, std::function<int()>& chosen);
void add_conformance_commands(CLI::App&, std::function<int()>& chosen);

}  // namespace idem::tools
