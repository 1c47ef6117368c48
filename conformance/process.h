// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <idem/error.h>

namespace idem::inline v1::conformance {

/// How a child process ended.
struct child_end {
  bool killed = false;
  std::string output;
};

/// A child process whose standard output is read.
class child_process {
 public:
  /// `setting`, NAME=value, goes before the environment that it inherits.
  /// Errors: `resource_exhausted`, `configuration` (the command cannot be started).
  static result<child_process> start(std::vector<std::string> const& command,
                                     std::string const& setting);
  child_process(child_process&&) noexcept;
  child_process& operator=(child_process&&) = delete;
  /// Waits for it if `output` was not called.
  ~child_process();

  /// Reads its output to the end and waits for it. Errors: `statement_failed` unless it ended
  /// with status 0.
  result<std::string> output();
  /// The same of one that may be killed, by itself too. While it runs, `dies` is asked again and
  /// again; when it says true the process is killed. Errors: `statement_failed` unless it was
  /// killed or ended with status 0.
  result<child_end> end(std::function<bool()> const& dies);

 private:
  std::string read_all(std::function<bool()> const& dies);
  child_process(int pid, int read_end);
  int pid_;
  int read_end_;
};

}  // namespace idem::inline v1::conformance
