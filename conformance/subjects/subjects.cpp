// SPDX-License-Identifier: BSL-1.0
#include "conformance/subjects/subjects.h"

#include <idem/url.h>

#include <algorithm>
#include <string>

#include "conformance/reference.h"

namespace idem::inline v1::conformance {

namespace {

result<std::unique_ptr<subject>> make_memory_subject(std::string_view url) {
  auto parsed = parse_target_url(url);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  if (parsed->rest.empty() && parsed->options.empty()) return make_reference_subject();
  error e;
  e.what = errc::configuration;
  e.phase = phase::connect;
  e.message = "a memory: URL takes no name and no options: write memory:";
  return std::unexpected(std::move(e));
}

std::string scheme_of(std::string_view url) {
  std::string scheme(url.substr(0, url.find(':')));
  std::ranges::transform(scheme, scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return scheme;
}

}  // namespace

result<std::unique_ptr<subject>> make_subject(std::string_view url) {
  auto const scheme = scheme_of(url);
  if (scheme == "memory") return make_memory_subject(url);
#if IDEM_HAS_SQLITE
  if (scheme == "sqlite") return make_sqlite_subject(url);
#endif
#if IDEM_HAS_POSTGRESQL
  if (scheme == "postgresql" || scheme == "postgres") return make_postgresql_subject(url);
#endif
#if IDEM_HAS_SOCI && IDEM_HAS_SQLITE
  if (scheme == "sqlite+soci") return make_sqlite_subject(url);
#endif
#if IDEM_HAS_SOCI && IDEM_HAS_POSTGRESQL
  if (scheme == "postgresql+soci") return make_postgresql_subject(url);
#endif
  error e;
  e.what = errc::configuration;
  e.phase = phase::connect;
  // What is no scheme may be anything, a password too: it is not repeated.
  bool const plain =
      scheme.size() < 32 &&
      std::ranges::all_of(
          scheme,
          [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+'; });
  e.message = "no engine of this build takes the target's scheme" +
              (plain ? " '" + scheme + "'" : std::string()) +
              ": write one of"
#if IDEM_HAS_SQLITE
              " sqlite:FILE, sqlite::memory:,"
#endif
#if IDEM_HAS_POSTGRESQL
              " postgresql://HOST/DATABASE,"
#endif
#if IDEM_HAS_SOCI
              " sqlite+soci:FILE, postgresql+soci://HOST/DATABASE,"
#endif
              " memory:";
  return std::unexpected(std::move(e));
}

}  // namespace idem::inline v1::conformance
