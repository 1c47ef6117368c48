// SPDX-License-Identifier: BSL-1.0
// Connecting, adopting, pooling.
#include <algorithm>
#include <utility>

#include "dialects/postgresql/errors.h"
#include "dialects/postgresql/options.h"
#include "dialects/postgresql/session_impl.h"
#include "dialects/postgresql/session_places.h"

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
  } else if (steady_clock::now() >= limits.deadline) {
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
result<conn_ptr> start(options const& o, PQconninfoOption const* parsed, server_place const& at) {
  std::vector<char const*> keywords{"dbname", "client_encoding"};
  std::vector<char const*> values{o.conninfo.c_str(), "UTF8"};
  auto const set = [&](char const* keyword, std::string const& value) {
    if (value.empty()) return;
    keywords.push_back(keyword);
    values.push_back(value.c_str());
  };
  set("host", at.host);
  set("hostaddr", at.address);
  set("port", at.port);
  set("target_session_attrs", at.session_attrs);
  if (option(parsed, "fallback_application_name").empty()) {
    keywords.push_back("fallback_application_name");
    values.push_back("idem");
  }
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

namespace detail {

namespace {

// A server that was reached and said no is the last one that is asked, as in libpq, but for one
// that is starting or stopping.
// https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
bool asks_the_next(error const& e) {
  if (e.advice == advice::never) return false;
  return e.native.sqlstate.empty() || e.native.sqlstate == "57P03";
}

result<conn_ptr> connect_to(options const& o, PQconninfoOption const* parsed,
                            server_place const& place, steady_clock::time_point until,
                            call_limits const& limits) {
  auto conn = start(o, parsed, place);
  if (!conn) return conn;
  auto connected = wait_until_connected(conn->get(), until, limits);
  // Whoever needs a password for one server needs it for all.
  if (!connected && PQconnectionNeedsPassword(conn->get()) == 1)
    connected.error().advice = advice::never;
  if (!connected) return std::unexpected(std::move(connected).error());
  return conn;
}

// PQconnectPoll has no time limits: a host that swallows everything would keep libpq from the next
// ones. So each is asked by itself, for its connect_timeout and no longer than its share of the
// time that is left.
result<conn_ptr> connect_to_any(options const& o, PQconninfoOption const* parsed,
                                call_limits const& limits) {
  auto const places = server_places(parsed);
  auto const most = connect_timeout(option(parsed, "connect_timeout"));
  std::string words;
  for (std::size_t i = 0;; ++i) {
    auto const now = steady_clock::now();
    auto const share = limits.deadline == steady_clock::time_point::max()
                           ? steady_clock::duration(most)
                           : (limits.deadline - now) / static_cast<int>(places.size() - i);
    auto conn = connect_to(o, parsed, places[i],
                           now + std::min<steady_clock::duration>(most, share), limits);
    if (conn) return conn;
    error& e = conn.error();
    words += e.native.message;
    if (i + 1 < places.size() && asks_the_next(e)) continue;
    e.native.message = std::move(words);
    return conn;
  }
}

}  // namespace

}  // namespace detail

result<std::unique_ptr<session>> connect(options const& o, call_limits const& limits) {
  auto parsed = detail::parse(o.conninfo);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  auto conn = detail::connect_to_any(o, parsed->get(), limits);
  if (!conn) return std::unexpected(std::move(conn).error());
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
