// SPDX-License-Identifier: BSL-1.0
#include "conformance/subjects/front_door.h"

#if IDEM_HAS_SOCI
#include <idem/soci.h>
#endif
#if IDEM_HAS_SQLITE
#include <idem/sqlite.h>
#endif
#if IDEM_HAS_POSTGRESQL
#include <idem/postgresql.h>
#endif

namespace idem::inline v1::conformance {

namespace {

constexpr std::string_view soci_suffix = "+soci";

std::string_view scheme_of(std::string_view url) { return url.substr(0, url.find(':')); }

}  // namespace

front_door front_door_of(std::string_view url) noexcept {
  return scheme_of(url).ends_with(soci_suffix) ? front_door::soci : front_door::native;
}

std::string without_front_door(std::string_view url) {
  auto scheme = scheme_of(url);
  auto const rest = url.substr(scheme.size());
  if (scheme.ends_with(soci_suffix)) scheme.remove_suffix(soci_suffix.size());
  return std::string(scheme) + std::string(rest);
}

std::string name_by(front_door door, std::string_view engine) {
  return std::string(engine) + std::string(door == front_door::soci ? soci_suffix : "");
}

std::string driver_by([[maybe_unused]] front_door door, std::string_view native) {
  std::string all;
#if IDEM_HAS_SOCI
  if (door == front_door::soci) all.append(soci::driver_version()).append(", ");
#endif
  return all.append(native);
}

#if IDEM_HAS_SQLITE
result<std::unique_ptr<session>> open_by([[maybe_unused]] front_door door, sqlite::options const& o,
                                         call_limits const& limits) {
#if IDEM_HAS_SOCI
  if (door == front_door::soci) return soci::connect(o, limits);
#endif
  return sqlite::connect(o, limits);
}
#endif

#if IDEM_HAS_POSTGRESQL
result<std::unique_ptr<session>> open_by([[maybe_unused]] front_door door,
                                         postgresql::options const& o, call_limits const& limits) {
#if IDEM_HAS_SOCI
  if (door == front_door::soci) return soci::connect(o, limits);
#endif
  return postgresql::connect(o, limits);
}
#endif

result<> write_by([[maybe_unused]] front_door door, transaction& tx, std::string const& sql,
                  std::span<parameter const> parameters) {
#if IDEM_HAS_SOCI
  if (door == front_door::soci) return write_in_soci(tx, sql, parameters);
#endif
  auto written = tx.execute(sql, parameters);
  if (!written) return std::unexpected(std::move(written).error());
  return {};
}

}  // namespace idem::inline v1::conformance
