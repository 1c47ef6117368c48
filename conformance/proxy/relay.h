// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <idem/error.h>

#include "conformance/proxy/fault_plan.h"
#include "conformance/proxy/journal.h"

namespace idem::inline v1::conformance {

struct relay_target {
  std::string host;
  std::uint16_t port = 0;
  wire_protocol protocol = wire_protocol::postgresql;
};

/// Stands between clients and a server, on a port of 127.0.0.1 that the system chose, and works
/// in a thread of its own. It refuses encryption itself, so that it can read what passes.
/// Of each direction it keeps about two reads of 64 KiB; while the receiver takes no more, or a
/// fault holds it, it reads no further. All members may be called by any thread, and what they
/// did has been done when they return.
class relay {
 public:
  /// Errors: `configuration` (the host has no address), `resource_exhausted` (no port, thread).
  static result<relay> start(relay_target const&);
  relay(relay&&) noexcept;
  relay& operator=(relay&&) = delete;
  /// Ends every connection; what is held is lost.
  ~relay();

  std::uint16_t port() const noexcept;

  /// From now on this plan, and nothing of an earlier one; its faults stay as they are.
  /// To exhaust a run, arm index 0, 1, 2 … until a run ends without `fired`.
  void arm(fault_plan);
  void disarm();
  bool fired();
  /// Waits for the fault, at most so long. False if it has not fallen.
  bool await_fired(std::chrono::milliseconds patience);
  /// How many messages have matched the plan since `arm`.
  std::size_t matched();
  /// Lets go what is held or delayed, also if its sender is gone. A swallowed connection ends:
  /// the server reads its end and has none of what was swallowed.
  void release();

  /// The port refuses connections until `up`. Those that are open stay.
  void down();
  /// Errors: `resource_exhausted`.
  result<> up();

  /// How many connections were accepted since the start: the number of the next one.
  std::size_t accepted();
  relay_counts counts();
  relay_counts counts(std::size_t connection);
  /// A round trip under way is not counted again.
  void reset_counts();
  /// The newest `journal::most_events`, oldest first.
  std::vector<relay_event> log();

 private:
  class machine;
  explicit relay(std::unique_ptr<machine>);
  std::unique_ptr<machine> machine_;
};

}  // namespace idem::inline v1::conformance
