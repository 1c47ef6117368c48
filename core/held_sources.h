// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <idem/session.h>

namespace idem::inline v1::detail {

/// While it lives, a run on this thread has a session of the source. A run that an effect calls
/// asks how many its own callers have: those come back only after it, so it must not wait for
/// them.
class held_source {
 public:
  explicit held_source(session_source const& s) : source_(&s) { held().push_back(&s); }
  held_source(held_source const&) = delete;
  held_source& operator=(held_source const&) = delete;
  // By name and not the last: fibers of one thread do not end in order.
  ~held_source() {
    auto const place = std::ranges::find(held(), source_);
    if (place != held().end()) held().erase(place);
  }

  static std::size_t count(session_source const& s) {
    return static_cast<std::size_t>(std::ranges::count(held(), &s));
  }

 private:
  static std::vector<session_source const*>& held() {
    thread_local std::vector<session_source const*> sources;
    return sources;
  }

  session_source const* source_;
};

}  // namespace idem::inline v1::detail
