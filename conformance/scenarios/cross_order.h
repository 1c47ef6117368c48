// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

#include <idem/conformance/context.h>

namespace idem::inline v1::conformance {

/// Two transactions, each in a thread and on a session of its own, that take the same two keys
/// in opposite order. Each waits after its first key until the other has come as far, or is
/// kept waiting by the engine. Until both keys are taken no effect is written, so that nothing
/// but the keys is locked.
class cross_order {
 public:
  explicit cross_order(context&);

  session& of(std::size_t side) noexcept { return *sessions_[side]; }
  operation const& key(std::size_t i) const noexcept { return keys_[i]; }

  /// Takes both keys of a side. May be called again by a transaction that starts over.
  result<> take_both(transaction&, std::size_t side);
  /// The transaction of the side has committed: what it took counts from here.
  void committed(std::size_t side);
  /// The side will not come any more.
  void gave_up(std::size_t side) { over_[side] = true; }

  /// Errors that by the server's own code are a deadlock.
  int deadlocks() const noexcept { return deadlocks_; }
  /// A side was seen waiting for the other one's lock.
  bool waited() const noexcept { return waited_; }
  /// Both sides have held a key at least once, or one was kept from it by the other.
  bool crossed() const noexcept { return arrivals_[0] > 0 && arrivals_[1] > 0; }

 private:
  result<> take_one(transaction&, std::size_t side, operation const&);
  result<> count(transaction&, error const&);
  result<> write_effects(transaction&, std::size_t side);
  void meet(std::size_t side);

  context& context_;
  std::array<session*, 2> sessions_;
  std::array<operation, 2> keys_;
  std::array<std::vector<history_entry>, 2> taken_;
  std::array<std::atomic<int>, 2> arrivals_{};
  std::array<std::atomic<bool>, 2> has_both_{};
  std::array<std::atomic<bool>, 2> over_{};
  std::atomic<int> deadlocks_ = 0;
  std::atomic<bool> waited_ = false;
};

}  // namespace idem::inline v1::conformance
