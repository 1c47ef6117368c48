// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include <idem/conformance/context.h>
#include <idem/observer.h>

// Operations that are kept open or run beside others: what the scenarios on rollback and
// concurrency have in common.
namespace idem::inline v1::conformance {

/// A call in a thread of its own, which ends before this object does.
class background {
 public:
  explicit background(std::function<call()>);

  bool done() const;
  /// Polls until the session is seen waiting for a lock; false if the call ended before that.
  bool await_blocked(context&, session&) const;
  /// False if it has not ended in time.
  bool await_done(context&, std::chrono::milliseconds limit = std::chrono::seconds(20)) const;
  /// Waits for its end. Once.
  call get() { return future_.get(); }

 private:
  std::future<call> future_;
};

/// An operation that stays open inside its effect until it is told how to end. It is made to
/// fail when this object is destroyed before.
class held_operation {
 public:
  /// Before its write it holds its key and nothing else; after it, what the effect locks too.
  enum class at : std::uint8_t { before_write, after_write };
  held_operation(context&, session&, operation const&, at = at::after_write,
                 run_options const& = {});
  held_operation(held_operation const&) = delete;
  held_operation& operator=(held_operation const&) = delete;
  ~held_operation();

  /// False if the call ended without its effect having been run.
  bool await_held();
  /// The effect answers, and the operation commits.
  call commit() { return finish(true); }
  /// The effect fails with an error of its own, and the operation rolls back.
  call fail() { return finish(false); }
  /// The server said, when the effect was let go on, that its transaction was still the one
  /// in which the effect had begun.
  bool was_open() const noexcept { return was_open_; }

 private:
  result<answer> effect(transaction&);
  bool hold();
  void let_go(bool answers);
  call finish(bool answers);

  context& context_;
  operation op_;
  at at_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool let_go_ = false;
  bool answers_ = false;
  std::atomic<bool> was_open_ = false;
  std::unique_ptr<background> call_;
};

/// The error that an effect of the suite gives when it is to fail for good.
std::unexpected<error> declined();

/// Another store over the same tables, under the same saboteur, that tells an observer what
/// happens: the run's own store has none.
std::unique_ptr<contract> watched_contract(context&, idem::observer&);

/// `context::run` on such a contract. Thread-safe for distinct sessions.
call run_on(context&, contract&, session&, operation const&, run_options const& = {});

}  // namespace idem::inline v1::conformance
