// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <idem/dialect.h>
#include <idem/error.h>
#include <idem/pool.h>
#include <idem/session.h>
#include <idem/transaction.h>

struct pg_conn;

/// PostgreSQL 13 or newer through libpq 14 or newer, in its pipeline mode.
namespace idem::inline v1::postgresql {

/// PostgreSQL's statements, facts and meaning of errors. Lives as long as the program.
dialect const& dialect_value() noexcept;

/// The driver in use: "libpq 15.18".
std::string driver_version();

/// Where to connect, and how.
struct options {
  /// What libpq takes: a `postgresql://` URI or `keyword=value` words.
  /// https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
  std::string conninfo;
  /// Statements are prepared once for each connection. Off for a pooler that gives every
  /// transaction another server and does not keep their names.
  bool prepared = true;

  friend bool operator==(options const&, options const&) = default;
};

/// Reads `postgresql://user@host:port/database?option=value` (or `postgres://`) with everything
/// that libpq takes (several hosts, TLS, a service), and `prepared=on|off`, which is ours. What is
/// left out comes from libpq's environment variables, password file and service file.
/// Errors: `configuration`, `not_executed`. What is wrong is named without repeating the URL,
/// which may hold a password.
[[nodiscard]] result<options> parse_url(std::string_view url);

/// Connects. Unless the conninfo says otherwise, only a server that accepts writes will do
/// (target_session_attrs=read-write): a standby cannot be asked what became of a COMMIT.
/// `call_limits` bound the whole; without a deadline, connect_timeout for each host or 30 seconds.
/// Errors, each `not_executed`: `configuration`, `connection_failed`, `resource_exhausted`,
/// `unsupported` (an older server), `cancelled`, `deadline_exceeded`.
///
/// The first statement of a transaction carries its BEGIN, the last one its COMMIT; a ROLLBACK is
/// sent at once and its answer read before the session is used again. Integers, text and NULL are
/// sent as the server infers their types, bytes as bytea. Read back: boolean and integers as
/// integer, real and double precision as double, bytea as blob, everything else as PostgreSQL
/// writes it. `??` in a statement stands for the operator `?`.
///
/// `wait_limit` is lock_timeout in whole milliseconds, at least one (0 would mean for ever), and
/// holds for each lock that the call waits for. A deadline or a stop cancels the statement in the
/// server; the session is then not used again.
/// `reset` undoes (DISCARD ALL) what SET, set_config, temporary tables, session locks, prepared
/// statements, cursors, DO, CALL or the handle may have left; a session that an effect has not so
/// touched costs nothing to reset. What a function does so by itself is not seen.
[[nodiscard]] result<std::unique_ptr<session>> connect(options const&, call_limits const& = {});

/// Works with a connection that the caller owns, keeps open longer than the session, and uses in
/// one thread at a time. Never null. It must be out of pipeline mode with all results read, which
/// `session::status` checks; it is left so after every call. Its client encoding decides how text
/// is sent. Statements that idem prepares are named idem_N and stay with the connection, however
/// many sessions adopt it. An event procedure is registered with it.
/// https://www.postgresql.org/docs/15/libpq-events.html
/// A transaction that the session began is rolled back when the session is destroyed. Take the
/// connection by `handle` while one is open: BEGIN goes with the first statement, or then.
std::unique_ptr<session> adopt(pg_conn*, bool prepared = true);

/// A pool of such sessions. Opens nothing yet.
std::unique_ptr<session_pool> pool(options, std::size_t max_sessions = 8);

/// The same from a URL. Opens one session at once, so that errors come early.
/// Errors: as `parse_url` and `connect`.
[[nodiscard]] result<std::unique_ptr<session_pool>> open_pool(std::string_view url,
                                                              std::size_t max_sessions = 8);

/// The connection of a session from here (a PGconn), through any wrapper that passes
/// `native_handle` on. Owned by the session, or by the one who had it adopted. Whoever takes it
/// leaves it without pipeline mode and unread results. Null if the BEGIN that was due failed.
pg_conn* handle(session&) noexcept;
/// The connection of the transaction's session, for an effect that calls libpq itself.
pg_conn* handle(transaction const&) noexcept;

}  // namespace idem::inline v1::postgresql
