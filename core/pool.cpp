// SPDX-License-Identifier: BSL-1.0
#include <idem/pool.h>

#include <algorithm>
#include <utility>

namespace idem::inline v1 {

session_pool::session_pool(factory make, std::size_t max_sessions)
    : factory_(std::move(make)), max_sessions_(max_sessions) {
  idle_.reserve(max_sessions_);
  lent_.reserve(max_sessions_);
}

session_pool::~session_pool() = default;

result<session*> session_pool::acquire(call_limits const& limits) {
  if (max_sessions_ == 0) {
    auto none = invalid_argument("a pool of 0 sessions lends none: give it room for 1 at least");
    none.error().phase = phase::connect;
    return none;
  }
  std::unique_lock lock(mutex_);
  auto const available = [this] {
    return !idle_.empty() || lent_.size() + opening_ < max_sessions_;
  };
  if (!freed_.wait_until(lock, limits.stop, limits.deadline, available)) {
    error e;
    e.what = limits.stop.stop_requested() ? errc::cancelled : errc::resource_exhausted;
    e.phase = phase::connect;
    e.message = limits.stop.stop_requested()
                    ? "stopped while waiting for a session of the pool"
                    : "no session of the pool became free before the deadline: enlarge the pool";
    return std::unexpected(std::move(e));
  }
  if (!idle_.empty()) {
    lent_.push_back(std::move(idle_.back()));
    idle_.pop_back();
    return lent_.back().get();
  }
  ++opening_;
  lock.unlock();
  return open(limits);
}

// Connecting may take long: it is done without the lock, the place in the pool held by
// `opening_` until it is known how that ended.
result<session*> session_pool::open(call_limits const& limits) {
  auto opened = [&] {
    try {
      return factory_(limits);
    } catch (...) {
      std::scoped_lock lock(mutex_);
      --opening_;
      freed_.notify_one();
      throw;
    }
  }();
  std::scoped_lock lock(mutex_);
  --opening_;
  if (!opened) {
    freed_.notify_one();
    return std::unexpected(std::move(opened).error());
  }
  lent_.push_back(std::move(*opened));
  return lent_.back().get();
}

void session_pool::release(session* s, bool reusable) noexcept {
  bool const keep = reusable && s->reset().has_value();
  std::unique_ptr<session> discarded;  // closed after the lock is given up
  {
    std::scoped_lock lock(mutex_);
    auto const place =
        std::ranges::find_if(lent_, [s](auto const& lent) { return lent.get() == s; });
    if (place == lent_.end()) return;
    (keep ? idle_.emplace_back() : discarded) = std::move(*place);
    lent_.erase(place);
  }
  freed_.notify_one();
}

}  // namespace idem::inline v1
