// SPDX-License-Identifier: BSL-1.0
// Waiting for SQLite's locks: its busy handler is the only place where that can be done.
// https://sqlite.org/c3ref/busy_handler.html
#include "dialects/sqlite/session_wait.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <idem/retry.h>

#include "dialects/sqlite/session_errors.h"

namespace idem::inline v1::sqlite::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// SQLite has no queue for its locks: who asks more often waits less.
constexpr std::array<milliseconds, 6> pauses{milliseconds(1), milliseconds(1), milliseconds(2),
                                             milliseconds(3), milliseconds(5), milliseconds(8)};
constexpr milliseconds longest_limit = std::chrono::hours(24);

// A few thousand steps of SQLite's machine take less than a millisecond.
constexpr int steps_between_checks = 4096;

struct registry {
  std::mutex mutex;
  std::unordered_map<sqlite3 const*, std::shared_ptr<lock_view>> views;
};

// Never destroyed: a session of static storage duration may be closed after everything else.
registry& all_views() {
  static auto* const views = new registry;  // NOLINT(cppcoreguidelines-owning-memory)
  return *views;
}

bool brings_limits(call_limits const& limits) {
  return limits.wait_limit || limits.stop.stop_possible() ||
         limits.deadline != steady_clock::time_point::max();
}

// A handler set with sqlite3_busy_handler reads as 0.
// https://sqlite.org/pragma.html#pragma_busy_timeout
int read_busy_timeout(sqlite3* db) {
  sqlite3_stmt* pragma = nullptr;
  int ms = 0;
  if (sqlite3_prepare_v2(db, "PRAGMA busy_timeout", -1, &pragma, nullptr) == SQLITE_OK &&
      sqlite3_step(pragma) == SQLITE_ROW)
    ms = sqlite3_column_int(pragma, 0);
  sqlite3_finalize(pragma);
  return ms;
}

}  // namespace

std::shared_ptr<lock_view> view_of(sqlite3 const* db) {
  auto& all = all_views();
  std::scoped_lock const lock(all.mutex);
  auto const found = all.views.find(db);
  return found == all.views.end() ? nullptr : found->second;
}

lock_wait::lock_wait(sqlite3* db, std::optional<milliseconds> usual)
    : db_(db),
      usual_(usual),
      view_(std::make_shared<lock_view>()),
      limit_(usual.value_or(milliseconds::zero())) {
  auto& all = all_views();
  std::scoped_lock const lock(all.mutex);
  all.views.insert_or_assign(db, view_);
}

lock_wait::~lock_wait() {
  auto& all = all_views();
  std::scoped_lock const lock(all.mutex);
  auto const found = all.views.find(db_);
  if (found != all.views.end() && found->second == view_) all.views.erase(found);
}

milliseconds lock_wait::limit_of(call_limits const& limits, int handle_ms) const {
  auto const asked = limits.wait_limit.value_or(usual_.value_or(milliseconds(handle_ms)));
  return std::clamp(asked, milliseconds::zero(), longest_limit);
}

lock_wait::call::call(lock_wait& wait, call_limits const& limits, interrupt may) : wait_(&wait) {
  wait.limits_ = &limits;
  wait.waits_since_.reset();
  wait.gave_up_ = reason::none;
  if (!wait.usual_) {
    if (!brings_limits(limits)) return;
    put_back_ms_ = read_busy_timeout(wait.db_);
  }
  wait.limit_ = wait.limit_of(limits, put_back_ms_.value_or(0));
  // Set at every call: an effect may have replaced it on the handle.
  sqlite3_busy_handler(wait.db_, &lock_wait::on_busy, &wait);
  bool const stops =
      limits.stop.stop_possible() || limits.deadline != steady_clock::time_point::max();
  if (wait.usual_ && stops && may == interrupt::allowed) {
    sqlite3_progress_handler(wait.db_, steps_between_checks, &lock_wait::on_progress, &wait);
    has_progress_handler_ = true;
  }
}

lock_wait::call::~call() {
  auto& wait = *wait_;
  if (has_progress_handler_) sqlite3_progress_handler(wait.db_, 0, nullptr, nullptr);
  if (put_back_ms_) sqlite3_busy_timeout(wait.db_, *put_back_ms_);
  wait.limits_ = nullptr;
  wait.limit_ = wait.usual_.value_or(milliseconds::zero());
  wait.view_->waiting = false;
}

int lock_wait::on_busy(void* self, int times) noexcept {
  return static_cast<lock_wait*>(self)->try_again(times) ? 1 : 0;
}

bool lock_wait::try_again(int times) noexcept {
  ++view_->busy_calls;
  view_->waiting = true;
  bool again = false;
  try {
    again = wait_again(times);
  } catch (...) {  // no memory to wait with: give up
  }
  // Outside our calls (an effect uses the handle) nobody else would say that it is over.
  if (!again || limits_ == nullptr) view_->waiting = false;
  return again;
}

int lock_wait::on_progress(void* self) noexcept {
  auto& wait = *static_cast<lock_wait*>(self);
  auto const why = wait.impatient();
  if (why == reason::none) return 0;
  wait.gave_up_ = why;
  return 1;
}

lock_wait::reason lock_wait::impatient() const {
  if (limits_ == nullptr) return reason::none;
  if (limits_->stop.stop_requested()) return reason::stopped;
  return steady_clock::now() >= limits_->deadline ? reason::deadline : reason::none;
}

bool lock_wait::wait_again(int times) {
  auto const now = steady_clock::now();
  // `times` starts again for each lock; within a call of ours the limit is for all of them.
  bool const first = limits_ == nullptr ? times == 0 : !waits_since_;
  if (first) waits_since_ = now;
  gave_up_ = impatient();
  if (gave_up_ != reason::none) return false;
  auto const left = limit_ - std::chrono::duration_cast<milliseconds>(now - *waits_since_);
  if (left <= milliseconds::zero()) {
    gave_up_ = reason::wait_limit;
    return false;
  }
  auto const pause = pauses[std::min(static_cast<std::size_t>(times), pauses.size() - 1)];
  static call_limits const none;
  auto const& limits = limits_ == nullptr ? none : *limits_;
  wait_for(std::min(pause, left), limits.deadline, limits.stop);
  return true;
}

result<> lock_wait::patience() const {
  switch (impatient()) {
    case reason::stopped:
      return std::unexpected(refusal_of(errc::cancelled, "stopped by the caller"));
    case reason::deadline:
      return std::unexpected(refusal_of(errc::deadline_exceeded, "the deadline has passed"));
    default:
      return {};
  }
}

error lock_wait::explain(error e) const {
  bool const gave_up = e.what == errc::lock_timeout || e.what == errc::cancelled;
  if (!gave_up || (gave_up_ != reason::stopped && gave_up_ != reason::deadline)) return e;
  bool const stopped = gave_up_ == reason::stopped;
  e.what = stopped ? errc::cancelled : errc::deadline_exceeded;
  e.advice = advice::never;
  e.message = stopped ? "stopped by the caller" : "the deadline passed while SQLite was at work";
  return e;
}

}  // namespace idem::inline v1::sqlite::detail
