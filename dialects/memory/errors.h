// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

#include <idem/dialect.h>
#include <idem/error.h>

namespace idem::inline v1::memory::detail {

/// The engine's own error numbers: what a server's native code is elsewhere.
enum class code : std::int64_t {
  not_a_statement = 1,
  wrong_parameters,
  null_refused,
  out_of_range,
  no_savepoint,
  no_transaction,
  transaction_open,
  transaction_failed,
  transaction_aborted_by_statement,
  read_only,
  isolation_unknown,
  tables_missing,
  row_exists,
  lock_timeout,
  deadlock,
  commit_conflict,
  commit_constraint,
  connection_lost,
};

/// The error with its number, meaning and one line of text.
std::unexpected<error> fail(code);

/// An error of the session's own: the engine was not asked.
std::unexpected<error> refuse(errc, std::string message);

meaning classify(native_error const&) noexcept;

}  // namespace idem::inline v1::memory::detail
