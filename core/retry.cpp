// SPDX-License-Identifier: BSL-1.0
#include <idem/retry.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace idem::inline v1 {

std::chrono::milliseconds backoff_delay(retry_policy const& policy, int attempt,
                                        std::minstd_rand& random) {
  auto whole = policy.base_delay;
  for (int i = 1; i < attempt && whole < policy.max_delay; ++i) whole *= 2;
  whole = std::min(whole, policy.max_delay);
  if (whole <= std::chrono::milliseconds::zero()) return std::chrono::milliseconds::zero();
  std::uniform_int_distribution<std::chrono::milliseconds::rep> draw(whole.count() / 2,
                                                                     whole.count());
  return std::chrono::milliseconds(draw(random));
}

bool wait_for(std::chrono::milliseconds delay, std::chrono::steady_clock::time_point deadline,
              std::stop_token const& stop) {
  auto const now = std::chrono::steady_clock::now();
  bool const whole = deadline > now && deadline - now > delay;
  auto const until = whole ? now + delay : deadline;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_until(lock, stop, until, [] { return false; });
  return whole && !stop.stop_requested();
}

}  // namespace idem::inline v1
