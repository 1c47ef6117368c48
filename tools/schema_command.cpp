// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <idem/schema.h>
#include <CLI/CLI.hpp>

#include "tools/commands.h"

namespace idem::tools {

namespace {

struct schema_arguments {
  std::string target;
  std::string engine;
  table_names names;
};

int print_schema(schema_arguments const& a) {
  auto d = find_dialect(a.engine.empty() ? scheme_of(a.target) : a.engine);
  if (!d) return complain(d.error());
  auto text = schema::print(**d, a.names);
  if (!text) return complain(text.error());
  fmt::print("{}", *text);
  return 0;
}

int install_schema(schema_arguments const& a) {
  auto s = open_target(a.target, missing_file::made);
  if (!s) return complain(s.error());
  if (auto installed = schema::install(**s, a.names); !installed)
    return complain(installed.error());
  fmt::print("installed: version {}\n", schema::newest_version((*s)->sql()));
  return 0;
}

int schema_status(schema_arguments const& a) {
  auto s = open_target(a.target, missing_file::refused);
  if (!s) return complain(s.error());
  auto version = schema::installed_version(**s, a.names);
  if (!version) return complain(version.error());
  auto const newest = schema::newest_version((*s)->sql());
  if (*version == 0) {
    fmt::print("not installed (this idem brings version {})\n", newest);
    return 1;
  }
  fmt::print("version {} is installed, this idem brings {}\n", *version, newest);
  return *version == newest ? 0 : 1;
}

int verify_schema(schema_arguments const& a) {
  auto s = open_target(a.target, missing_file::refused);
  if (!s) return complain(s.error());
  auto breaches = schema::verify(**s, a.names);
  if (!breaches) return complain(breaches.error());
  for (auto const& breach : *breaches) fmt::print("{}\n", breach);
  fmt::print("{}\n",
             breaches->empty() ? "the schema is as it must be" : "the schema is not as it must be");
  return breaches->empty() ? 0 : 1;
}

}  // namespace

void add_schema_commands(CLI::App& app, std::function<int()>& chosen) {
  auto* schema = app.add_subcommand("schema", "idem's tables: print, install, status, verify");
  schema->require_subcommand(1);
  auto arguments = std::make_shared<schema_arguments>();
  auto const add = [&](char const* name, char const* what, int (*run)(schema_arguments const&)) {
    auto* command = schema->add_subcommand(name, what);
    command->add_option("--schema", arguments->names.schema,
                        "schema the tables are in (default: the engine's)");
    command->add_option("--prefix", arguments->names.prefix, "before each table's name")
        ->capture_default_str();
    command->callback([&chosen, arguments, run] { chosen = [=] { return run(*arguments); }; });
    return command;
  };
  auto* print = add("print", "the DDL, for review or another migration tool", print_schema);
  auto* group = print->add_option_group("which engine");
  group->add_option("--engine", arguments->engine, "an engine's name");
  group->add_option("--target", arguments->target, "or a database's URL; it is not opened");
  group->require_option(1);
  for (auto* command :
       {add("install", "make or upgrade the tables; safe to run again and by many at once",
            install_schema),
        add("status", "the installed version; exit 1 if it is not this idem's", schema_status),
        add("verify", "name everything that is not as it must be; exit 1 if anything is",
            verify_schema)})
    command->add_option("--target", arguments->target, "the database's URL")->required();
}

}  // namespace idem::tools
