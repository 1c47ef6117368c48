// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <CLI/App.hpp>

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

/// One session to a target URL. Errors: `configuration` for an unknown scheme, and what
/// connecting gives.
result<std::unique_ptr<session>> open_target(std::string_view url);

/// The dialect of an engine's name. Errors: `configuration`, naming the engines there are.
result<dialect const*> find_dialect(std::string_view engine);

/// Each adds its subcommands; a chosen one stores what is to be run.
void add_schema_commands(CLI::App&, std::function<int()>& chosen);
void add_settle_command(CLI::App&, std::function<int()>& chosen);
void add_conformance_commands(CLI::App&, std::function<int()>& chosen);

}  // namespace idem::tools
