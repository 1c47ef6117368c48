// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "conformance/proxy/fault_plan.h"

namespace idem::inline v1::conformance {

struct relay_traffic {
  std::map<char, std::size_t> messages;  ///< by type
  std::uint64_t bytes = 0;
  std::size_t total() const;
};

/// What arrived at the relay, also if a fault kept it from going on.
struct relay_counts {
  relay_traffic to_server;
  relay_traffic to_client;
  /// How often the client had to wait. One begins with a message of an operation when none is
  /// under way, and ends when the server has answered all of them, the answers were handed on
  /// and the client has sent nothing meanwhile. So whatever is sent without reading an answer
  /// first is one, however many statements and Syncs it has; an answer for which the client
  /// does not wait counts only if it comes before the client's next message.
  std::size_t round_trips = 0;
  std::size_t connections = 0;  ///< those accepted
};

enum class relay_action : std::uint8_t {
  accepted,
  not_accepted,  ///< the system gave no connection; the port refuses until `relay::up`
  unreachable,   ///< the target did not take the connection; the client's was reset
  passed,
  dropped,     ///< after a cut or in a black hole
  held,        ///< kept for `release` or the end of a delay
  refused,     ///< a request for encryption, answered by the relay
  fault,       ///< the plan's fault fell, at this message
  replaced,    ///< the plan's replacement goes to the client
  released,    ///< what was held in this direction goes on
  source_end,  ///< this direction's sender closed or reset its connection
  sink_lost,   ///< this direction's receiver takes nothing any more
  over,        ///< both sides are closed
};
std::string_view to_string(relay_action) noexcept;

struct relay_event {
  std::size_t connection = 0;
  relay_action action = relay_action::passed;
  direction way = direction::to_server;
  std::size_t index = 0;  ///< of the message in this direction of this connection
  char type = '\0';       ///< of the message; 0 where there is none
  std::size_t bytes = 0;
  bool commits = false;
  friend bool operator==(relay_event const&, relay_event const&) = default;
};

/// What the relay knows of its run. Used by one thread.
class journal {
 public:
  static constexpr std::size_t most_events = 10000;

  void arm(std::optional<fault_plan>);
  /// Counts a message against the plan. True if the fault falls at it.
  bool strikes(std::size_t connection, message const&);
  fault_plan const& plan() const { return *plan_; }
  std::size_t matched() const noexcept { return matched_; }
  bool fired() const noexcept { return fired_; }

  void count_connection(std::size_t connection);
  void count_message(std::size_t connection, message const&);
  void count_bytes(std::size_t connection, direction, std::size_t bytes);
  void count_round_trip(std::size_t connection);
  relay_counts const& counts() const noexcept { return all_; }
  relay_counts counts(std::size_t connection) const;
  void reset_counts();

  void note(relay_event);
  std::vector<relay_event> events() const { return {events_.begin(), events_.end()}; }

 private:
  std::optional<fault_plan> plan_;
  std::size_t matched_ = 0;
  bool fired_ = false;
  relay_counts all_;
  std::map<std::size_t, relay_counts> each_;
  std::deque<relay_event> events_;
};

}  // namespace idem::inline v1::conformance
