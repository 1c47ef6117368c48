// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <idem/session.h>

namespace idem::inline v1 {

/// A pool that opens sessions as they are needed, up to a number, and reuses those that
/// `session::reset` leaves clean. Thread-safe; must outlive every session it lent. A pool of no
/// sessions can lend none: its `acquire` is `invalid_argument`.
class session_pool final : public session_source {
 public:
  using factory = std::function<result<std::unique_ptr<session>>(call_limits const&)>;

  session_pool(factory, std::size_t max_sessions);
  ~session_pool() override;

  [[nodiscard]] result<session*> acquire(call_limits const&) override;
  void release(session*, bool reusable) noexcept override;
  std::size_t capacity() const noexcept override { return max_sessions_; }

 private:
  [[nodiscard]] result<session*> open(call_limits const&);

  factory factory_;
  std::size_t max_sessions_;
  std::mutex mutex_;
  std::condition_variable_any freed_;
  std::vector<std::unique_ptr<session>> idle_;
  std::vector<std::unique_ptr<session>> lent_;
  std::size_t opening_ = 0;
};

}  // namespace idem::inline v1
