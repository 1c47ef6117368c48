// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <idem/conformance/context.h>

#include "conformance/proxy/relay.h"

// What the scenarios about a wire that fails have in common.
namespace idem::inline v1::conformance {

/// A relay before the engine's server, and sessions through it.
class cut_wire {
 public:
  explicit cut_wire(context&);

  relay& between() noexcept { return relay_; }
  wire_protocol protocol() const noexcept { return place_.protocol; }
  /// A source of fresh connections through the relay.
  std::unique_ptr<session_pool> sessions(std::size_t most = 4);
  /// A source that connects once: nothing can be found out on another connection.
  std::unique_ptr<session_pool> only_session();
  /// One such connection.
  result<std::unique_ptr<session>> connect(call_limits const& = {});
  /// The next connection through the relay alone meets the fault.
  void arm_next(fault_plan);

 private:
  context& context_;
  wire_place place_;
  relay relay_;
};

/// One attempt. Over one session too, what it was told is not yet found out.
run_options one_attempt(std::chrono::milliseconds patience = std::chrono::seconds(30));

using caller = std::function<call(session_source&, operation const&, run_options const&)>;

struct cut_tally {
  std::size_t cases = 0;
  std::size_t doubtful_committed = 0;
  std::size_t doubtful_not = 0;
};

/// Calls operations, one for each message of each direction, at which the wire is cut, until a call
/// ends before the cut. Checks each aftermath, and marks both arms of the unknown outcome.
cut_tally cut_everywhere(context&, caller const&);

/// What the observer, on a connection of its own, finds of an operation whose caller was told
/// something, and whether the two agree. Calls again until it is executed or replayed.
class aftermath {
 public:
  /// `direct` is a session that does not go by the wire.
  aftermath(context&, session& direct, operation const&, call const&);

  bool in_doubt() const noexcept { return in_doubt_; }
  bool committed() const noexcept { return committed_; }
  /// Resolves what is in doubt, compares, calls again and compares once more.
  void check(std::string const& what);

 private:
  void check_unproven(std::string const& what);

  context& context_;
  session& direct_;
  operation const& op_;
  call const& call_;
  bool in_doubt_;
  bool committed_ = false;
};

}  // namespace idem::inline v1::conformance
