// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <idem/attempt.h>
#include <idem/fingerprint.h>
#include <idem/response.h>

namespace idem::inline v1 {

enum class record_state : std::uint8_t {
  claimed = 0,    ///< no response yet; committed in this state it is `incomplete`
  completed = 1,  ///< the response of an effect that was executed
  refused = 2,    ///< a stored refusal; nothing of the effect stays
};

/// One row as it is stored. Times are microseconds since 1970-01-01 UTC by the database's
/// clock (the host's where the engine runs inside the process).
struct record {
  attempt_id attempt;
  idem::fingerprint fingerprint;
  std::optional<std::string> canonical_request;
  record_state state = record_state::claimed;
  idem::response response;
  std::int64_t created_at_us = 0;
  std::optional<std::int64_t> completed_at_us;
  std::optional<std::int64_t> expires_at_us;

  friend bool operator==(record const&, record const&) = default;
};

}  // namespace idem::inline v1
