// SPDX-License-Identifier: BSL-1.0
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <functional>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/commands.h"

namespace {

// A word that looks like one is repeated; anything else may be a URL with a password in it.
std::string named(std::string const& word) {
  auto const plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  bool const short_word = !word.empty() && word.size() < 32;
  return short_word && std::ranges::all_of(word, plain) ? "'" + word + "'" : "one of the words";
}

// CLI11 says that a command is missing where one was mistyped.
int refuse(CLI::App const& app, CLI::ParseError const& e) {
  auto const unknown = app.remaining(true);
  bool const stray = dynamic_cast<CLI::RequiredError const*>(&e) != nullptr ||
                     dynamic_cast<CLI::ExtrasError const*>(&e) != nullptr;
  if (stray && !unknown.empty())
    return idem::tools::complain(named(unknown.front()) +
                                 " is not known here: see 'idem --help' for the commands, and "
                                 "'--help' behind one for its options");
  return idem::tools::complain(std::string(e.what()) + ": see --help");
}

}  // namespace

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
      return e.get_exit_code() == 0 ? app.exit(e) : refuse(app, e);
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
