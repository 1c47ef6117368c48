// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <idem/session.h>

namespace idem::inline v1::conformance {

/// Counts the steps of an operation in a worker process and kills the process at one of them.
/// Used by one thread.
class mortality {
 public:
  /// Counted from one; zero: it lives on. Writes have a count of their own, for how many there
  /// are depends on what those before have left in the files.
  mortality(std::size_t dies_at_step, std::size_t dies_at_write)
      : dies_at_step_(dies_at_step), dies_at_write_(dies_at_write) {}

  /// What comes before and after is not counted.
  void begin() noexcept { counts_ = true; }
  void end() noexcept { counts_ = false; }
  /// At the chosen one says so and does not return.
  void reach(std::string_view step);
  void reach_write();
  std::size_t steps() const noexcept { return steps_; }
  std::size_t writes() const noexcept { return writes_; }

 private:
  std::size_t dies_at_step_;
  std::size_t dies_at_write_;
  std::size_t steps_ = 0;
  std::size_t writes_ = 0;
  std::string last_step_;
  bool counts_ = false;
};

/// A line of a worker's output that is there even if the process is killed right after.
void say_at_once(std::string_view line);

/// A step before and after each call of the port that reaches the server.
std::unique_ptr<session> stepping(std::unique_ptr<session>, mortality&);

}  // namespace idem::inline v1::conformance
