// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

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

}  // namespace

result<std::unique_ptr<session>> open_target(std::string_view url) {
  auto const scheme = url.substr(0, url.find(':'));
#if IDEM_HAS_SQLITE
  if (scheme == "sqlite") {
    auto options = sqlite::parse_url(url);
    if (!options) return std::unexpected(std::move(options).error());
    return sqlite::connect(*options);
  }
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

result<dialect const*> find_dialect(std::string_view engine) {
#if IDEM_HAS_SQLITE
  if (engine == "sqlite") return &sqlite::dialect_value();
#endif
#if IDEM_HAS_POSTGRESQL
  if (engine == "postgresql") return &postgresql::dialect_value();
#endif
  return unknown("name", engine);
}

}  // namespace idem::tools
