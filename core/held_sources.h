// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <idem/session.h>

namespace idem::inline v1::detail {

/// While it lives, a run on this thread has a session of the source. A run that an effect calls
/// asks how many its own callers have: those come back only after it, so it must not wait for
/// them; nor for the one place of a writer that one of them has.
class held_source {
 public:
  held_source(session_source const& s, std::string one_writer_of) : source_(&s) {
    held().push_back({&s, std::move(one_writer_of)});
  }
  held_source(held_source const&) = delete;
  held_source& operator=(held_source const&) = delete;
  // By name and from the end: fibers of one thread do not end in order.
  ~held_source() {
    auto const place = std::ranges::find(held().rbegin(), held().rend(), source_, &entry::source);
    if (place != held().rend()) held().erase(std::next(place).base());
  }

  static std::size_t count(session_source const& s) {
    return static_cast<std::size_t>(std::ranges::count(held(), &s, &entry::source));
  }
  /// How many runs have a session of that database, this one included; zero for an empty name.
  static std::size_t writers(std::string const& one_writer_of) {
    if (one_writer_of.empty()) return 0;
    return static_cast<std::size_t>(std::ranges::count(held(), one_writer_of, &entry::database));
  }

 private:
  struct entry {
    session_source const* source;
    std::string database;
  };
  static std::vector<entry>& held() {
    thread_local std::vector<entry> sources;
    return sources;
  }

  session_source const* source_;
};

}  // namespace idem::inline v1::detail
