// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <idem/session.h>

struct sqlite3;

namespace idem::inline v1::sqlite::detail {

/// What other threads may see of a handle's waiting.
struct lock_view {
  std::atomic<bool> waiting{false};
  std::atomic<std::uint64_t> busy_calls{0};
};

/// The view of a handle that a session of ours works with; null for any other.
std::shared_ptr<lock_view> view_of(sqlite3 const*);

/// How one handle waits for locks, and when its calls give up. Used by the session's thread.
class lock_wait {
 public:
  /// `usual` is for calls without a wait limit. Nothing: the handle belongs to the caller, its
  /// own busy handling stays but for calls that bring limits.
  lock_wait(sqlite3*, std::optional<std::chrono::milliseconds> usual);
  lock_wait(lock_wait const&) = delete;
  lock_wait& operator=(lock_wait const&) = delete;
  ~lock_wait();

  /// Limits in force from construction to destruction: none of them outlives the call.
  class call {
   public:
    enum class interrupt : std::uint8_t { never, allowed };
    call(lock_wait&, call_limits const&, interrupt);
    call(call const&) = delete;
    call& operator=(call const&) = delete;
    ~call();

   private:
    lock_wait* wait_;
    std::optional<int> put_back_ms_;
    bool has_progress_handler_ = false;
  };

  /// Pauses after a lock was found taken for the `times`-th time, from 0. False if the call's
  /// patience is at its end.
  bool try_again(int times) noexcept;

  /// The deadline or a stop, asked before each statement.
  result<> patience() const;

  /// A statement that ended because the caller's patience did says so.
  error explain(error) const;

 private:
  enum class reason : std::uint8_t { none, wait_limit, deadline, stopped };

  static int on_busy(void* self, int times) noexcept;
  static int on_progress(void* self) noexcept;
  bool wait_again(int times);
  reason impatient() const;
  std::chrono::milliseconds limit_of(call_limits const&, int handle_ms) const;

  sqlite3* db_;
  std::optional<std::chrono::milliseconds> usual_;
  std::shared_ptr<lock_view> view_;
  call_limits const* limits_ = nullptr;  // of the call that is running
  std::chrono::milliseconds limit_{0};
  std::optional<std::chrono::steady_clock::time_point> waits_since_;
  reason gave_up_ = reason::none;
};

}  // namespace idem::inline v1::sqlite::detail
