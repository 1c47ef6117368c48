// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/interleavings.h"

#include <algorithm>
#include <utility>

namespace idem::inline v1::conformance {

namespace {

constexpr std::chrono::seconds longest_step{20};
constexpr std::chrono::microseconds poll_interval{200};
constexpr int most_repetitions = 5;

}  // namespace

std::string_view to_string(step s) noexcept {
  switch (s) {
    case step::begin:
      return "begin";
    case step::claim:
      return "claim";
    case step::effect:
      return "effect";
    case step::complete:
      return "complete";
    case step::commit:
      return "commit";
  }
  return "?";
}

std::vector<schedule> all_schedules() {
  std::vector<schedule> all;
  schedule s = "AAAAABBBBB";
  do {
    all.push_back(s);
  } while (std::ranges::next_permutation(s).found);
  return all;
}

std::size_t place_of(schedule const& s, char session, step wanted) {
  std::size_t steps = static_cast<std::size_t>(wanted) + 1;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (s[i] == session && --steps == 0) return i;
  return s.size();
}

stepper::stepper(context& c, session& s) : context_(c), session_(s) {
  driver_ = std::jthread([this](std::stop_token const& stop) { drive(stop); });
}

stepper::~stepper() = default;

void stepper::start(operation const& op) {
  std::scoped_lock const lock(mutex_);
  op_ = op;
  blocked_.clear();
  repeated_ = false;
  failed_for_good_.reset();
  claimed_.clear();
  state_ = state::running;
  steps_.emplace(context_, session_, op);
}

void stepper::give(step s) {
  std::scoped_lock const lock(mutex_);
  queue_.push_back(s);
  changed_.notify_all();
}

void stepper::drive(std::stop_token const& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !queue_.empty(); })) {
    current_ = queue_.front();
    queue_.pop_front();
    lock.unlock();
    take(*current_);
    lock.lock();
    current_.reset();
    changed_.notify_all();
  }
  steps_.reset();
}

// What fails ends the attempt: its transaction is rolled back, its later steps are void.
void stepper::take(step s) {
  if (state_ != state::running) return;
  auto const done = attempt(s);
  if (done) {
    if (s == step::commit) state_ = state::ended;
    return;
  }
  auto const& e = done.error();
  context_.log("failed at " + std::string(to_string(s)) + ": " + describe(e));
  if (!is_transient(e)) failed_for_good_ = e;
  state_ = state::failed;
  steps_.reset();
}

result<> stepper::attempt(step s) {
  switch (s) {
    case step::begin:
      return steps_->begin(longest_step);
    case step::claim: {
      auto claimed = steps_->claim(longest_step);
      if (!claimed) return std::unexpected(std::move(claimed).error());
      claimed_ = std::move(*claimed);
      return {};
    }
    case step::effect:
      return claimed_ == "claimed" ? steps_->effect() : result<>();
    case step::complete:
      return claimed_ == "claimed" ? steps_->complete() : result<>();
    case step::commit:
      return steps_->commit();
  }
  return {};
}

bool stepper::await(bool blocked_is_enough) {
  auto const until = std::chrono::steady_clock::now() + longest_step;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, poll_interval, [this] { return is_done(); })) {
    auto const current = current_;
    lock.unlock();
    bool const waits = current && context_.engine().waiting(session_);
    lock.lock();
    // Still the same step: the engine's view was of this one.
    if (waits && current_ == current) {
      if (std::ranges::find(blocked_, *current) == blocked_.end()) blocked_.push_back(*current);
      if (blocked_is_enough) return true;
    }
    if (std::chrono::steady_clock::now() >= until) return false;
  }
  return true;
}

bool stepper::await_settled() { return await(true); }
bool stepper::await_done() { return await(false); }

told stepper::what() const {
  std::scoped_lock const lock(mutex_);
  if (state_ != state::ended) return told::failed;
  if (claimed_ == "claimed") return told::executed;
  if (claimed_ == "replayed") return told::replayed;
  return claimed_ == "mismatched" ? told::mismatched : told::in_progress;
}

void stepper::repeat_until_answered() {
  for (int i = 0; i < most_repetitions && what() == told::failed; ++i) {
    auto const blocked_before = blocked();
    auto const failed_before = failed_for_good();
    start(*op_);
    {
      std::scoped_lock const lock(mutex_);
      blocked_ = blocked_before;
      failed_for_good_ = failed_before;
      repeated_ = true;
    }
    for (step s : all_steps) give(s);
    await_done();
  }
}

std::vector<step> stepper::blocked() const {
  std::scoped_lock const lock(mutex_);
  return blocked_;
}

std::optional<error> stepper::failed_for_good() const {
  std::scoped_lock const lock(mutex_);
  return failed_for_good_;
}

bool stepper::repeated() const {
  std::scoped_lock const lock(mutex_);
  return repeated_;
}

}  // namespace idem::inline v1::conformance
