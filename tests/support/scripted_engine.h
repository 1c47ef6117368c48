// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include <idem/dialect.h>

#include "tests/support/scripted_session.h"

namespace idem_test {

/// The simulated engine's own error numbers.
enum class native : std::int64_t {
  unique = 1,
  serialization,
  deadlock,
  lock_timeout,
  failed,
  lost,
  no_savepoint,
  unmatched,
  aborted,
  replaced,
  constraint,
  cannot_connect,
  out_of_time,
};

/// The engine's error as a session gives it: classified by the dialect, with a text of the
/// server's that no message of idem may show.
idem::error engine_error(native);

inline constexpr char server_text[] = "secret: server text";

/// A dialect whose statements the simulated server understands.
idem::dialect make_dialect(flavour const&);

}  // namespace idem_test
