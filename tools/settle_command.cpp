// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <idem/schema.h>
#include <idem/store.h>
#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>

#include "tools/commands.h"

namespace idem::tools {

namespace {

struct settle_arguments {
  std::string target;
  table_names names;
  std::string scope, operation, key;
  bool discard = false;
  std::int32_t status = 0;
  std::vector<std::string> headers;
  std::optional<std::string> body;
  std::string body_file;
};

result<response> read_response(settle_arguments const& a) {
  response r;
  r.status = a.status;
  r.body = a.body;
  for (auto const& header : a.headers) {
    auto const colon = header.find(':');
    if (colon == std::string::npos || colon == 0)
      return invalid_argument("--header must be written 'name: value'");
    auto const begin = header.find_first_not_of(' ', colon + 1);
    r.headers.emplace_back(header.substr(0, colon),
                           begin == std::string::npos ? "" : header.substr(begin));
  }
  if (!a.body_file.empty()) {
    std::ifstream file(a.body_file, std::ios::binary);
    if (!file) return invalid_argument("the file given with --body-file cannot be read");
    r.body.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return r;
}

int settle(settle_arguments const& a) {
  auto id = identity::make({a.scope, a.operation, a.key});
  if (!id) return complain(id.error());
  auto response = read_response(a);
  if (!response) return complain(response.error());
  auto s = open_target(a.target, missing_file::refused);
  if (!s) return complain(s.error());
  store_options options;
  options.schema = a.names.schema;
  options.prefix = a.names.prefix;
  auto store = store::open(**s, options);
  if (!store) return complain(store.error());
  settlement const how = a.discard ? settlement(settle_discard{})
                                   : settlement(settle_as_executed{std::move(*response)});
  auto settled = store->settle(**s, *id, how);
  if (!settled) return complain(settled.error());
  if (!*settled) return complain("there is no record of this identity: nothing to settle");
  fmt::print("settled: {}\n",
             a.discard ? "the key is free again" : "later calls replay the response given");
  return 0;
}

}  // namespace

void add_settle_command(CLI::App& app, std::function<int()>& chosen) {
  auto* command = app.add_subcommand(
      "settle", "repair a record that was committed without a response ('incomplete')");
  auto a = std::make_shared<settle_arguments>();
  command->add_option("--target", a->target, "the database's URL")->required();
  command->add_option("--schema", a->names.schema, "schema the tables are in");
  command->add_option("--prefix", a->names.prefix, "before each table's name")
      ->capture_default_str();
  command->add_option("--scope", a->scope, "the identity's scope")->required();
  command->add_option("--operation", a->operation, "its operation")->required();
  command->add_option("--key", a->key, "its key")->required();
  auto* how = command->add_option_group("how");
  how->add_flag("--discard", a->discard, "the effect did not happen: free the key");
  auto* status =
      how->add_option("--status", a->status, "the effect happened: later calls replay this status");
  how->require_option(1);
  command->add_option("--header", a->headers, "'name: value' of the response; may be repeated")
      ->needs(status);
  auto* body = command->add_option("--body", a->body, "the response's body")->needs(status);
  command->add_option("--body-file", a->body_file, "or a file with it")
      ->needs(status)
      ->excludes(body);
  command->callback([&chosen, a] { chosen = [a] { return settle(*a); }; });
}

}  // namespace idem::tools
