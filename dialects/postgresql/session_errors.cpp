// SPDX-License-Identifier: BSL-1.0
#include "dialects/postgresql/session_errors.h"

#include <algorithm>
#include <utility>

#include "dialects/postgresql/errors.h"

namespace idem::inline v1::postgresql::detail {

namespace {

std::string_view field(PGresult const* r, int code) noexcept {
  char const* text = PQresultErrorField(r, code);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

std::string_view sqlstate_of(PGresult const* r) noexcept { return field(r, PG_DIAG_SQLSTATE); }

error error_of(PGresult const* r) {
  error e;
  e.native.sqlstate = sqlstate_of(r);
  e.native.message = field(r, PG_DIAG_MESSAGE_PRIMARY);
  // Without a SQLSTATE it is libpq that speaks, and of the connection.
  if (e.native.sqlstate.empty()) {
    e.native.message = PQresultErrorMessage(r);
    e.what = errc::connection_lost;
    e.advice = advice::new_connection;
    e.message = "the connection to the server was lost";
    return e;
  }
  auto const means = classify(e.native);
  e.what = means.what;
  e.advice = means.advice;
  e.message = "the server refused a statement (SQLSTATE " + e.native.sqlstate + ")";
  return e;
}

error lost(PGconn const* conn) {
  error e;
  e.what = errc::connection_lost;
  e.advice = advice::new_connection;
  e.native.message = PQerrorMessage(conn);
  e.message = "the connection to the server was lost";
  return e;
}

error refusal_of(errc what, std::string message) {
  error e;
  e.what = what;
  e.message = std::move(message);
  return e;
}

// The severity that no language translates. https://www.postgresql.org/docs/15/libpq-exec.html
// PgBouncer gives the other one alone, in English: send_pooler_error in
// https://github.com/pgbouncer/pgbouncer/blob/master/src/proto.c
bool ends_session(PGresult const* r) noexcept {
  auto severity = field(r, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity.empty()) severity = field(r, PG_DIAG_SEVERITY);
  return severity == "FATAL" || severity == "PANIC" || sqlstate_of(r).empty();
}

bool is_the_servers(PGresult const* r) noexcept {
  return !field(r, PG_DIAG_SEVERITY_NONLOCALIZED).empty();
}

bool has_lost_names(std::string_view sqlstate) noexcept {
  return sqlstate == "26000" || sqlstate == "42P05" || sqlstate == "0A000";
}

std::size_t context_lines(PGresult const* r) noexcept {
  auto const text = field(r, PG_DIAG_CONTEXT);
  return text.empty() ? 0 : 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace idem::inline v1::postgresql::detail
