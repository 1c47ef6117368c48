// SPDX-License-Identifier: BSL-1.0
#include "dialects/memory/database.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <idem/memory.h>

#include "dialects/memory/errors.h"

namespace idem::inline v1::memory::detail {

namespace {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

using std::chrono::steady_clock;

// Beyond a year a wait limit is none, and would not fit the clock.
steady_clock::time_point wait_end(patience const& p) {
  if (p.wait_limit > std::chrono::years(1)) return p.limits.deadline;
  return std::min(p.limits.deadline, steady_clock::now() + p.wait_limit);
}

std::unexpected<error> gave_up(call_limits const& limits) {
  if (limits.stop.stop_requested()) return refuse(errc::cancelled, "stopped by the caller");
  if (steady_clock::now() >= limits.deadline)
    return refuse(errc::deadline_exceeded, "the deadline passed while waiting for a lock");
  return fail(code::lock_timeout);
}

// The changes of one kind that a transaction has made, in order.
template <class Kind>
void each_change(open_transaction const* tx, auto visit) {
  if (tx == nullptr) return;
  for (auto const& c : tx->changes) {
    if (auto const* kind = std::get_if<Kind>(&c)) visit(*kind);
  }
}

}  // namespace

void engine::begin(open_transaction& tx) {
  tx.serial = ++last_serial_;
  tx.start = start_;
  open_.insert(&tx);
}

void engine::apply(open_transaction& tx) {
  for (auto& c : tx.changes) {
    std::visit(overloaded{
                   [this](record_written& w) {
                     if (w.now)
                       records_.insert_or_assign(std::move(w.key), std::move(*w.now));
                     else
                       records_.erase(w.key);
                   },
                   [this](row_added& a) { rows_[a.table].push_back(std::move(a.row)); },
                   [this](counter_added const& a) { counters_[a.counter] += a.amount; },
                   [this](tables_written const& t) { versions_[t.tables] = t.version; },
               },
               c);
  }
}

void engine::undo(open_transaction& tx) {
  tx.changes.clear();
  tx.savepoints.clear();
  for (auto const& key : tx.locked) unlock(key);
  tx.locked.clear();
}

void engine::end(open_transaction& tx) {
  undo(tx);
  open_.erase(&tx);
}

void engine::restart() {
  for (auto* tx : open_) {
    tx->changes.clear();
    tx->savepoints.clear();
    tx->locked.clear();
    tx->waits_for.reset();
  }
  open_.clear();
  locks_.clear();
  ++start_;
  changed_.notify_all();
}

void engine::give(open_transaction& tx, row_key const& key) {
  locks_.emplace(key, &tx);
  tx.locked.push_back(key);
  tx.waits_for.reset();
}

// The lock goes to the one that has waited longest at once: nobody can come between.
void engine::unlock(row_key const& key) {
  locks_.erase(key);
  open_transaction* next = nullptr;
  for (auto* tx : open_) {
    if (tx->waits_for == key && (next == nullptr || tx->waits_since < next->waits_since)) next = tx;
  }
  if (next == nullptr) return;
  give(*next, key);
  changed_.notify_all();
}

open_transaction* engine::holder(row_key const& key) const {
  auto const found = locks_.find(key);
  return found == locks_.end() ? nullptr : found->second;
}

// Each transaction waits for one row at most and a row has one holder: the waits-for graph is
// a set of chains. Only a transaction that starts to wait can close a circle, since who is
// given a lock does not wait.
bool engine::closes_circle(open_transaction const& tx, row_key const& wanted) const {
  auto const* next = holder(wanted);
  for (std::size_t steps = 0; next != nullptr && steps <= open_.size(); ++steps) {
    if (next == &tx) return true;
    next = next->waits_for ? holder(*next->waits_for) : nullptr;
  }
  return false;
}

result<bool> engine::lock_row(std::unique_lock<std::mutex>& lock, open_transaction& tx,
                              row_key const& key, patience const& p) {
  auto const mine = [&] { return holder(key) == &tx; };
  if (mine()) return false;
  if (holder(key) == nullptr) {
    give(tx, key);
    return true;
  }
  if (closes_circle(tx, key)) {
    tx.failed = true;
    undo(tx);
    return fail(code::deadlock);
  }
  if (p.wait_limit <= std::chrono::milliseconds::zero()) return fail(code::lock_timeout);
  tx.waits_for = key;
  tx.waits_since = ++last_wait_;
  changed_.wait_until(lock, p.limits.stop, wait_end(p),
                      [&] { return mine() || start_ != tx.start; });
  tx.waits_for.reset();
  if (start_ != tx.start) return fail(code::connection_lost);
  if (!mine()) return gave_up(p.limits);
  return true;
}

void engine::unlock_last(open_transaction& tx) {
  auto const key = std::move(tx.locked.back());
  tx.locked.pop_back();
  unlock(key);
}

std::optional<record_row> engine::record(open_transaction const* tx, row_key const& key) const {
  if (hidden_.contains(key)) return std::nullopt;
  std::optional<record_row> seen;
  if (auto const found = records_.find(key); found != records_.end()) seen = found->second;
  each_change<record_written>(tx, [&](record_written const& w) {
    if (w.key == key) seen = w.now;
  });
  return seen;
}

std::vector<std::string> engine::rows_of(open_transaction const* tx, std::string_view table) const {
  std::vector<std::string> seen;
  if (auto const found = rows_.find(table); found != rows_.end()) seen = found->second;
  each_change<row_added>(tx, [&](row_added const& a) {
    if (a.table == table) seen.push_back(a.row);
  });
  return seen;
}

std::int64_t engine::counter(open_transaction const* tx, std::string_view counter) const {
  auto const found = counters_.find(counter);
  std::int64_t seen = found == counters_.end() ? 0 : found->second;
  each_change<counter_added>(tx, [&](counter_added const& a) {
    if (a.counter == counter) seen += a.amount;
  });
  return seen;
}

std::optional<std::int64_t> engine::version(open_transaction const* tx,
                                            std::string_view tables) const {
  std::optional<std::int64_t> seen;
  if (auto const found = versions_.find(tables); found != versions_.end()) seen = found->second;
  each_change<tables_written>(tx, [&](tables_written const& t) {
    if (t.tables == tables) seen = t.version;
  });
  return seen;
}

void engine::hide(row_key const& key, bool hidden) {
  if (hidden)
    hidden_.insert(key);
  else
    hidden_.erase(key);
}

}  // namespace idem::inline v1::memory::detail

namespace idem::inline v1::memory {

database::database() : engine_(std::make_shared<detail::engine>()) {}
database::~database() = default;

std::vector<std::string> database::committed_rows(std::string_view table) const {
  std::scoped_lock const lock(engine_->mutex);
  return engine_->rows_of(nullptr, table);
}

std::int64_t database::committed_counter(std::string_view counter) const {
  std::scoped_lock const lock(engine_->mutex);
  return engine_->counter(nullptr, counter);
}

std::size_t database::committed_records() const {
  std::scoped_lock const lock(engine_->mutex);
  return engine_->committed_records();
}

std::size_t database::open_transactions() const {
  std::scoped_lock const lock(engine_->mutex);
  return engine_->open_transactions();
}

void database::restart() {
  std::scoped_lock const lock(engine_->mutex);
  engine_->restart();
}

std::uint64_t database::starts() const {
  std::scoped_lock const lock(engine_->mutex);
  return engine_->start();
}

}  // namespace idem::inline v1::memory
