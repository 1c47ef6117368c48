// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#if IDEM_HAS_POSTGRESQL
#include <idem/postgresql.h>
#endif
#if IDEM_HAS_SOCI
#include <idem/soci.h>
#endif
#if IDEM_HAS_SQLITE
#include <idem/sqlite.h>
#endif

#include "tools/commands.h"

namespace idem::tools {

int complain(std::string_view what) {
  fmt::print(stderr, "idem: {}\n", what);
  return could_not_run;
}

int complain(error const& e) { return complain(describe(e)); }

namespace {

std::unexpected<error> unknown(std::string_view what, std::string_view name) {
  error e;
  e.what = errc::configuration;
  e.phase = phase::connect;
  // What is no scheme may be anything, a password too: it is not repeated.
  bool const plain =
      name.size() < 32 &&
      std::ranges::all_of(
          name,
          [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+'; });
  e.message =
      fmt::format("no engine of this build has the {}{}: there is{}{}{}{}", what,
                  plain ? fmt::format(" '{}'", name) : " given",
                  IDEM_HAS_POSTGRESQL ? " postgresql" : "", IDEM_HAS_SQLITE ? " sqlite" : "",
                  IDEM_HAS_SOCI ? ", each as a URL's scheme also with +soci" : "",
                  IDEM_HAS_POSTGRESQL || IDEM_HAS_SQLITE ? "" : " none");
  return std::unexpected(std::move(e));
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

#if IDEM_HAS_SQLITE
// A mistyped path must not leave an empty file behind. What else is wrong with it (no folder, no
// rights) is for connecting to say.
result<> find_file(sqlite::options& o) {
  if (o.path.empty()) return {};
  if (o.mode == sqlite::open_mode::create) o.mode = sqlite::open_mode::read_write;
  std::error_code failure;
  std::filesystem::path const path(o.path);
  auto const folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (std::filesystem::exists(path, failure) || failure ||
      !std::filesystem::is_directory(folder, failure))
    return {};
  error e;
  e.what = errc::connection_failed;
  e.phase = phase::connect;
  e.message = fmt::format(
      "no such database: there is no file '{}'; correct the path, or make it with "
      "'idem schema install'",
      o.path);
  return std::unexpected(std::move(e));
}

result<std::unique_ptr<session>> open_sqlite(std::string_view url, missing_file missing) {
  auto options = sqlite::parse_url(url);
  if (!options) return std::unexpected(std::move(options).error());
  if (missing == missing_file::refused)
    if (auto found = find_file(*options); !found) return std::unexpected(std::move(found).error());
  return sqlite::connect(*options);
}
#endif

}  // namespace

std::string scheme_of(std::string_view url) { return lower_case(url.substr(0, url.find(':'))); }

result<std::unique_ptr<session>> open_target(std::string_view url,
                                             [[maybe_unused]] missing_file missing) {
  auto const scheme = scheme_of(url);
#if IDEM_HAS_SQLITE
  if (scheme == "sqlite") return open_sqlite(url, missing);
#endif
#if IDEM_HAS_POSTGRESQL
  if (scheme == "postgresql" || scheme == "postgres") {
    auto options = postgresql::parse_url(url);
    if (!options) return std::unexpected(std::move(options).error());
    return postgresql::connect(*options);
  }
#endif
#if IDEM_HAS_SOCI
  if (scheme.ends_with("+soci")) return soci::connect(url);
#endif
  return unknown("scheme", scheme);
}

result<dialect const*> find_dialect(std::string_view name) {
  auto const engine = lower_case(name);
#if IDEM_HAS_SQLITE
  if (engine == "sqlite") return &sqlite::dialect_value();
#endif
#if IDEM_HAS_POSTGRESQL
  if (engine == "postgresql") return &postgresql::dialect_value();
#endif
  return unknown("name", engine);
}

}  // namespace idem::tools
