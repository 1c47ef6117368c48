// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <idem/conformance/context.h>

// Two sessions taken through one operation, step by step, in every order there is.
namespace idem::inline v1::conformance {

enum class step : std::uint8_t { begin, claim, effect, complete, commit };
inline constexpr std::array all_steps{step::begin, step::claim, step::effect, step::complete,
                                      step::commit};
std::string_view to_string(step) noexcept;

/// Whose next step is taken: five times 'A' and five times 'B'.
using schedule = std::string;

/// All 252, in lexical order.
std::vector<schedule> all_schedules();

/// The place in the schedule of the given step of a session.
std::size_t place_of(schedule const&, char session, step);

/// One session and the thread that drives it. Steps are taken in the order they are given, one
/// after the other; a step that the engine makes wait keeps the later ones waiting too.
class stepper {
 public:
  stepper(context&, session&);
  stepper(stepper const&) = delete;
  stepper& operator=(stepper const&) = delete;
  ~stepper();

  /// Begins a new schedule.
  void start(operation const&);
  void give(step);
  /// Until the steps given are done, or the engine makes one wait. False if neither comes.
  bool await_settled();
  /// Until all steps given are done.
  bool await_done();

  /// What the session was told; `failed` for an error after which the whole is to be repeated.
  told what() const;
  /// Repeats the whole until it is answered, a few times at most.
  void repeat_until_answered();
  /// The steps that the engine made wait, and whether the whole had to be repeated.
  std::vector<step> blocked() const;
  bool repeated() const;
  /// An error that is none to repeat the whole on.
  std::optional<error> failed_for_good() const;

 private:
  enum class state : std::uint8_t { running, ended, failed };
  void drive(std::stop_token const&);
  void take(step);
  result<> attempt(step);
  bool is_done() const { return queue_.empty() && !current_; }
  bool await(bool blocked_is_enough);

  context& context_;
  session& session_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<step> queue_;
  std::optional<step> current_;
  std::vector<step> blocked_;
  std::optional<operation> op_;
  bool repeated_ = false;

  // The driver's own, read by others when it is done.
  std::optional<stepwise> steps_;
  state state_ = state::running;
  std::optional<error> failed_for_good_;
  std::string claimed_;
  std::jthread driver_;  // last: ends first
};

}  // namespace idem::inline v1::conformance
