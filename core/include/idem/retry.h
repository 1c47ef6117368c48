// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <stop_token>

namespace idem::inline v1 {

/// How often and how fast a whole transaction is tried again. Exponential back-off; each
/// delay is drawn evenly from [half, whole] so that losers do not meet again.
struct retry_policy {
  int max_attempts = 10;  ///< 1..1000: transactions started, the first included
  std::chrono::milliseconds base_delay{5};
  std::chrono::milliseconds max_delay{1000};  ///< at most 24 hours
};

/// The delay after failed attempt number `attempt` (from 1).
std::chrono::milliseconds backoff_delay(retry_policy const&, int attempt, std::minstd_rand&);

/// Waits, but not beyond `deadline` nor a stop request. False if it ended early.
bool wait_for(std::chrono::milliseconds, std::chrono::steady_clock::time_point deadline,
              std::stop_token const&);

}  // namespace idem::inline v1
