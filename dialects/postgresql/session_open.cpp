// SPDX-License-Identifier: BSL-1.0
// Connecting, adopting, pooling.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dialects/postgresql/errors.h"
#include "dialects/postgresql/options.h"
#include "dialects/postgresql/session_impl.h"

namespace idem::inline v1::postgresql {

namespace detail {

namespace {

using std::chrono::steady_clock;

// pg_current_xact_id and xid8. https://www.postgresql.org/docs/13/release-13.html
constexpr int oldest_server = 130000;

struct finish {
  void operator()(PGconn* conn) const noexcept { PQfinish(conn); }
};
using conn_ptr = std::unique_ptr<PGconn, finish>;

struct free_conninfo {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using conninfo_ptr = std::unique_ptr<PQconninfoOption, free_conninfo>;

result<conninfo_ptr> parse(std::string const& conninfo) {
  char* complaint = nullptr;
  conninfo_ptr parsed(PQconninfoParse(conninfo.c_str(), &complaint));
  // libpq's complaint can repeat a password that was not percent-encoded.
  PQfreemem(complaint);
  if (parsed) return parsed;
  return refuse_options(
      "libpq cannot read the connection's URL: write postgresql://user@host:port/database?"
      "option=value with percent-encoded special characters (%40 for '@'), and only options that "
      "libpq has, or prepared=on|off");
}

std::string_view option(PQconninfoOption const* all, std::string_view keyword) {
  for (; all->keyword != nullptr; ++all)
    if (keyword == all->keyword && all->val != nullptr) return all->val;
  return {};
}

// What libpq's own PQconnectdb would allow, which PQconnectPoll leaves to us.
steady_clock::time_point connect_deadline(PQconninfoOption const* all, call_limits const& limits) {
  if (limits.deadline != steady_clock::time_point::max()) return limits.deadline;
  auto const hosts = option(all, "host");
  auto const count = 1 + std::ranges::count(hosts, ',');
  auto const text = option(all, "connect_timeout");
  int seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (seconds <= 0) seconds = 30;
  return steady_clock::now() + std::chrono::seconds(seconds) * count;
}

// With this verbosity the message of a refusal ends with its SQLSTATE, in every language.
// https://www.postgresql.org/docs/15/libpq-control.html#LIBPQ-PQSETERRORVERBOSITY
std::string refusal_state(std::string_view message) {
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  auto const last = message.substr(message.size() < 5 ? 0 : message.size() - 5);
  auto const in_state = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  bool const stands_alone = message.size() > 5 && message[message.size() - 6] == ' ';
  return stands_alone && std::ranges::all_of(last, in_state) ? std::string(last) : std::string();
}

std::string place_of(PGconn const* conn) {
  char const* host = PQhost(conn);
  char const* port = PQport(conn);
  std::string out = host != nullptr && *host != '\0' ? host : "the default host";
  if (port != nullptr && *port != '\0') out.append(", port ").append(port);
  return out;
}

error connect_error(PGconn const* conn) {
  error e;
  e.phase = phase::connect;
  e.native.message = PQerrorMessage(conn);
  e.native.sqlstate = refusal_state(e.native.message);
  e.what = errc::connection_failed;
  e.advice = advice::new_connection;
  if (e.native.sqlstate.empty()) {
    e.message = "no connection to a PostgreSQL server at " + place_of(conn) +
                ": is it running, is the address right, does it accept writes "
                "(target_session_attrs)?";
    return e;
  }
  auto const means = classify(e.native);
  if (means.what != errc::statement_failed && means.what != errc::connection_lost)
    e.what = means.what;
  e.advice = means.advice;
  e.message = "the PostgreSQL server at " + place_of(conn) + " refused the connection (SQLSTATE " +
              e.native.sqlstate + "): check user, password and database";
  return e;
}

error out_of_time(call_limits const& limits, PGconn const* conn) {
  error e;
  e.phase = phase::connect;
  e.advice = advice::new_connection;
  e.what = errc::connection_failed;
  e.message = "no answer from a PostgreSQL server at " + place_of(conn) + " in time";
  if (limits.stop.stop_requested()) {
    e.what = errc::cancelled;
    e.advice = advice::never;
    e.message = "stopped by the caller";
  } else if (limits.deadline != steady_clock::time_point::max()) {
    e.what = errc::deadline_exceeded;
    e.advice = advice::never;
  }
  return e;
}

result<> wait_until_connected(PGconn* conn, steady_clock::time_point deadline,
                              call_limits const& limits) {
  auto step = PGRES_POLLING_WRITING;
  while (step != PGRES_POLLING_OK) {
    if (step == PGRES_POLLING_FAILED) return std::unexpected(connect_error(conn));
    bool const writing = step == PGRES_POLLING_WRITING;
    if (!wait_for_socket(conn, writing, !writing, deadline, limits.stop))
      return std::unexpected(out_of_time(limits, conn));
    step = PQconnectPoll(conn);
  }
  return {};
}

// libpq takes the first word for a keyword only if it expands "dbname", and a later one wins.
result<conn_ptr> start(options const& o, PQconninfoOption const* parsed) {
  std::vector<char const*> keywords{"dbname", "client_encoding"};
  std::vector<char const*> values{o.conninfo.c_str(), "UTF8"};
  auto const add = [&](char const* keyword, char const* value) {
    if (!option(parsed, keyword).empty()) return;
    keywords.push_back(keyword);
    values.push_back(value);
  };
  add("target_session_attrs", "read-write");
  add("fallback_application_name", "idem");
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  conn_ptr conn(PQconnectStartParams(keywords.data(), values.data(), 1));
  if (!conn) throw std::bad_alloc();
  PQsetErrorVerbosity(conn.get(), PQERRORS_SQLSTATE);
  if (PQstatus(conn.get()) == CONNECTION_BAD) return std::unexpected(connect_error(conn.get()));
  return conn;
}

result<> check_server(PGconn* conn) {
  if (PQserverVersion(conn) >= oldest_server) return {};
  error e;
  e.what = errc::unsupported;
  e.phase = phase::connect;
  e.message = "the server is older than PostgreSQL 13, the oldest that idem works with";
  return std::unexpected(std::move(e));
}

}  // namespace

}  // namespace detail

// https://www.postgresql.org/docs/15/libpq-misc.html#LIBPQ-PQLIBVERSION
std::string driver_version() {
  int const version = PQlibVersion();
  return "libpq " + std::to_string(version / 10000) + "." + std::to_string(version % 10000);
}

result<std::unique_ptr<session>> connect(options const& o, call_limits const& limits) {
  auto parsed = detail::parse(o.conninfo);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  auto conn = detail::start(o, parsed->get());
  if (!conn) return std::unexpected(std::move(conn).error());
  auto const deadline = detail::connect_deadline(parsed->get(), limits);
  if (auto connected = detail::wait_until_connected(conn->get(), deadline, limits); !connected)
    return std::unexpected(std::move(connected).error());
  if (auto fits = detail::check_server(conn->get()); !fits)
    return std::unexpected(std::move(fits).error());
  PQsetErrorVerbosity(conn->get(), PQERRORS_DEFAULT);
  using detail::postgresql_session;
  return std::make_unique<postgresql_session>(conn->release(), postgresql_session::owner::session,
                                              o.prepared);
}

std::unique_ptr<session> adopt(pg_conn* conn, bool prepared) {
  using detail::postgresql_session;
  return std::make_unique<postgresql_session>(conn, postgresql_session::owner::caller, prepared);
}

std::unique_ptr<session_pool> pool(options o, std::size_t max_sessions) {
  return std::make_unique<session_pool>(
      [o = std::move(o)](call_limits const& limits) { return connect(o, limits); }, max_sessions);
}

result<std::unique_ptr<session_pool>> open_pool(std::string_view url, std::size_t max_sessions) {
  auto parsed = parse_url(url);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  auto made = pool(std::move(*parsed), max_sessions);
  auto first = made->acquire({});
  if (!first) return std::unexpected(std::move(first).error());
  made->release(*first, true);
  return made;
}

pg_conn* handle(session& s) noexcept { return static_cast<pg_conn*>(s.native_handle()); }

pg_conn* handle(transaction const& tx) noexcept { return handle(tx.session()); }

}  // namespace idem::inline v1::postgresql
