// SPDX-License-Identifier: BSL-1.0
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <functional>

#include "tools/commands.h"

int main(int argc, char** argv) {
  try {
    CLI::App app{"idem: a database operation that is safe to repeat"};
    app.set_version_flag("--version", "idem " IDEM_VERSION);
    app.require_subcommand(1);
    app.footer("Exit codes: 0 done or pass, 1 fail, 2 vacuous (proves nothing), 3 could not run.");
    std::function<int()> chosen;
    idem::tools::add_schema_commands(app, chosen);
    idem::tools::add_settle_command(app, chosen);
    idem::tools::add_conformance_commands(app, chosen);
    try {
      app.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
      return app.exit(e) == 0 ? 0 : idem::tools::could_not_run;
    }
    int const code = chosen();
    // What is still in the buffer may not fit where it is to go.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return idem::tools::complain("standard output cannot be written");
    return code;
  } catch (std::exception const& e) {
    return idem::tools::complain(e.what());
  }
}
