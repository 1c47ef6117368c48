// SPDX-License-Identifier: BSL-1.0
// SOCI's backend "postgresql".
#include <libpq-events.h>
#include <libpq-fe.h>
#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

#include <idem/postgresql.h>

#include "dialects/soci/session_impl.h"

namespace idem::inline v1::soci {

namespace detail {

namespace {

// A PGconn that SOCI ends may be followed by one at the same address, and the same PGconn may be
// connected anew: libpq tells of both, and the first time in time to let go of it.
// https://www.postgresql.org/docs/15/libpq-events.html
struct connection_watch {
  std::uint64_t incarnation = next();
  int server_process = 0;
  std::vector<native_part*> parts;

  static std::uint64_t next() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
};

int on_event(PGEventId what, void* info, void*) {
  auto const watch = [](PGconn* conn) {
    return static_cast<connection_watch*>(PQinstanceData(conn, &on_event));
  };
  if (what == PGEVT_CONNRESET) {
    if (auto* w = watch(static_cast<PGEventConnReset*>(info)->conn))
      w->incarnation = connection_watch::next();
  } else if (what == PGEVT_CONNDESTROY) {
    std::unique_ptr<connection_watch> const w(watch(static_cast<PGEventConnDestroy*>(info)->conn));
    // The connection is closed already: the port finds it so and sends nothing.
    if (w)
      for (auto* part : w->parts) part->port.reset();
  }
  return 1;
}

connection_watch& watch_of(PGconn* conn) {
  auto* w = static_cast<connection_watch*>(PQinstanceData(conn, &on_event));
  if (w == nullptr) {
    PQregisterEventProc(conn, &on_event, "idem SOCI", nullptr);
    auto made = std::make_unique<connection_watch>();
    if (PQsetInstanceData(conn, &on_event, made.get()) == 0) throw std::bad_alloc();
    w = made.release();
    w->server_process = PQbackendPID(conn);
  }
  // Zero where the connection is lost: that is the same one, which its port knows to be dead.
  int const process = PQbackendPID(conn);
  if (process != 0 && w->server_process != process) {
    if (w->server_process != 0) w->incarnation = connection_watch::next();
    w->server_process = process;
  }
  return *w;
}

// A dynamic_cast would need the backend's type information, which its library does not export:
// whoever gets here has looked at the name.
void* handle_of(::soci::session& sql) {
  auto* const backend = sql.get_backend();
  if (backend == nullptr || backend->get_backend_name() != postgresql_engine.soci_name)
    return nullptr;
  return static_cast<::soci::postgresql_session_backend*>(backend)->conn_;
}

std::uint64_t incarnation_of(void* handle) {
  return handle == nullptr ? 0 : watch_of(static_cast<PGconn*>(handle)).incarnation;
}

void attach(native_part& part) {
  auto* const conn = static_cast<PGconn*>(part.handle);
  watch_of(conn).parts.push_back(&part);
  part.port = postgresql::adopt(conn);
}

void detach(native_part& part) noexcept {
  if (!part.port) return;  // never opened, or the connection is gone
  auto* const conn = static_cast<PGconn*>(part.handle);
  if (auto* w = static_cast<connection_watch*>(PQinstanceData(conn, &on_event)))
    std::erase(w->parts, &part);
  part.port.reset();
}

std::optional<native_error> code_of(::soci::soci_error const& thrown) {
  auto const* e = dynamic_cast<::soci::postgresql_soci_error const*>(&thrown);
  if (e == nullptr) return std::nullopt;
  return native_error{e->sqlstate(), 0, e->get_error_message()};
}

// The second is SOCI's own, made when it connects.
void restore(::soci::session& sql) {
  sql << "DISCARD ALL";
  sql << "SET extra_float_digits = 3";
}

void ignore_notice(void*, char const*) {}

struct conninfo_deleter {
  void operator()(PQconninfoOption* all) const noexcept { PQconninfoFree(all); }
};

// libpq takes less than two seconds for two.
// https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNECT-CONNECT-TIMEOUT
std::int64_t seconds_left(call_limits const& limits) {
  constexpr std::int64_t usual = 30;
  auto const now = std::chrono::steady_clock::now();
  if (limits.deadline - now > std::chrono::seconds(usual)) return usual;
  return std::chrono::ceil<std::chrono::seconds>(limits.deadline - now).count();
}

// SOCI reads the connection string before libpq does, and takes no URI: 4.0 appends '=' to one
// without options. In quotes it keeps a value that has none itself.
result<std::string> connect_string(postgresql::options const& o, call_limits const& limits) {
  std::unique_ptr<PQconninfoOption, conninfo_deleter> const all(
      PQconninfoParse(o.conninfo.c_str(), nullptr));
  if (!all)
    return refuse(errc::configuration, phase::connect, advice::never,
                  "libpq cannot read the connection string");
  std::string text;
  bool chooses_server = false;
  bool has_timeout = false;
  for (auto const* one = all.get(); one != nullptr && one->keyword != nullptr; ++one) {
    if (one->val == nullptr) continue;
    std::string_view const value(one->val);
    if (value.find_first_of("'\"\\\t\n") != std::string_view::npos || value.contains("  "))
      return refuse(errc::configuration, phase::connect, advice::never,
                    "SOCI's connection string cannot hold quotes, backslashes, tabs or two "
                    "spaces in the value of " +
                        std::string(one->keyword));
    std::string_view const name(one->keyword);
    chooses_server = chooses_server || name == "target_session_attrs";
    has_timeout = has_timeout || name == "connect_timeout";
    text.append(one->keyword).append("='").append(value).append("' ");
  }
  if (!chooses_server) text += "target_session_attrs='read-write' ";
  if (!has_timeout) text += "connect_timeout='" + std::to_string(seconds_left(limits)) + "'";
  return text;
}

error why_not_connected(postgresql::options const& o, call_limits const& limits,
                        std::string const& said) {
  if (auto const native = postgresql::connect(o, limits); !native) return native.error();
  error e;
  e.what = errc::connection_failed;
  e.phase = phase::connect;
  e.advice = advice::new_connection;
  e.message = "SOCI could not connect where libpq now can";
  e.native.message = said;
  return e;
}

result<std::unique_ptr<session>> connect_url(std::string_view url, call_limits const& limits) {
  auto options = postgresql::parse_url("postgresql" + std::string(url.substr(url.find(':'))));
  if (!options) return std::unexpected(std::move(options).error());
  return soci::connect(*options, limits);
}

}  // namespace

engine const postgresql_engine{
    .soci_name = "postgresql",
    .scheme = "postgresql+soci",
    .dialect_value = postgresql::dialect_value,
    .handle = handle_of,
    .incarnation = incarnation_of,
    .attach = attach,
    .detach = detach,
    .close = [](std::unique_ptr<::soci::session>) noexcept {},
    .code_of = code_of,
    .connect = connect_url,
    .keeps_port = true,
    .guards_commit = false,
    .replaced = advice::new_connection,
};

}  // namespace detail

result<std::unique_ptr<session>> connect(postgresql::options const& o, call_limits const& limits) {
  constexpr int oldest_server = 130000;
  if (limits.stop.stop_requested())
    return detail::refuse(errc::cancelled, phase::connect, advice::never, "stopped by the caller");
  if (std::chrono::steady_clock::now() >= limits.deadline)
    return detail::refuse(errc::deadline_exceeded, phase::connect, advice::never,
                          "the deadline has passed");
  auto text = detail::connect_string(o, limits);
  if (!text) return std::unexpected(std::move(text).error());
  try {
    auto sql = std::make_unique<::soci::session>(::soci::postgresql, *text);
    auto* const conn = static_cast<PGconn*>(detail::handle_of(*sql));
    if (PQserverVersion(conn) < oldest_server)
      return detail::refuse(errc::unsupported, phase::connect, advice::never,
                            "the server is older than PostgreSQL 13, the oldest that idem works "
                            "with");
    PQsetNoticeProcessor(conn, detail::ignore_notice, nullptr);  // libpq's prints it
    return detail::make_session(std::move(sql), detail::postgresql_engine, detail::restore);
  } catch (::soci::soci_error const& thrown) {
    return std::unexpected(detail::why_not_connected(o, limits, thrown.get_error_message()));
  }
}

}  // namespace idem::inline v1::soci
