// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/proxy/message_reader.h"

namespace idem::inline v1::conformance {

enum class fault_action : std::uint8_t {
  cut_rst,  ///< the client's connection is reset
  cut_fin,  ///< the client reads the end of its connection
  replace,  ///< the client reads `fault_plan::replacement` and then that end
  swallow,  ///< nothing passes any more, neither way, and nobody is told
  hold,     ///< this direction stands still until `relay::release`
  delay,    ///< this direction stands still for `fault_plan::delay`
};
std::string_view to_string(fault_action) noexcept;

/// On which side of the chosen message the fault falls: it is the first that does not pass, or
/// the last that does.
enum class moment : std::uint8_t { before, after };

/// One fault at one message. A cut, with a replacement or without, is what the client meets; the
/// server receives all that came before it and then reads the end of its connection, so that with
/// `after` it has the message for certain.
struct fault_plan {
  direction way = direction::to_server;
  fault_action action = fault_action::cut_rst;
  moment when = moment::before;
  /// Which of the messages that match, counted from `relay::arm` over all chosen connections.
  std::size_t index = 0;
  /// Empty: every message matches. Called on the relay's thread, where it must not throw and
  /// must not call the relay.
  std::function<bool(message const&)> matches;
  /// The n-th connection that was accepted, from 0; nothing: all.
  std::optional<std::size_t> connection;
  std::chrono::milliseconds delay{0};
  /// Comes behind the last whole message that passed to the client, wherever the fault falls; an
  /// answer that is under way passes to its end.
  std::string replacement;
  bool refuse_afterwards = false;  ///< as if `relay::down` were called just before
};

std::function<bool(message const&)> of_type(char type);

/// To the server: a Query or Execute that commits, to the client: the end of a COMMIT.
/// A Query of several statements commits if the first or the last of them does.
bool is_commit(message const&);

}  // namespace idem::inline v1::conformance
