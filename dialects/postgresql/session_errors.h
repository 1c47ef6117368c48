// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <idem/error.h>

namespace idem::inline v1::postgresql::detail {

struct result_deleter {
  void operator()(PGresult* r) const noexcept { PQclear(r); }
};
using result_ptr = std::unique_ptr<PGresult, result_deleter>;

/// What the server said is wrong, with the dialect's meaning of it.
error error_of(PGresult const*);

/// The connection ended under us: `connection_lost`.
error lost(PGconn const*);

/// An error of our own. Nothing was sent.
error refusal_of(errc, std::string message);

/// Did the server end the session with this error? Severity FATAL or PANIC.
bool ends_session(PGresult const*) noexcept;

std::string_view sqlstate_of(PGresult const*) noexcept;

/// Has the error the untranslated severity, which every server since 9.6 sends and poolers that
/// make errors of their own do not? https://www.postgresql.org/docs/15/protocol-error-fields.html
bool is_the_servers(PGresult const*) noexcept;

/// Does it say that a statement is not prepared as was believed?
/// 26000: it is not there; 42P05: its name is taken; 0A000: its columns have changed.
/// https://www.postgresql.org/docs/15/errcodes-appendix.html
bool has_lost_names(std::string_view sqlstate) noexcept;

/// How many lines of context the server has added to an error.
std::size_t context_lines(PGresult const*) noexcept;

}  // namespace idem::inline v1::postgresql::detail
