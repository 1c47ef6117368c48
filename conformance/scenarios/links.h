// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <idem/conformance/context.h>

// Connections that end under an operation.
namespace idem::inline v1::conformance {

/// A session whose connection can be cut from this side: the real one is closed, whatever it
/// had open, and from then on nothing answers. Counts what it was asked to send.
class cuttable_session final : public session {
 public:
  explicit cuttable_session(std::unique_ptr<session> real)
      : dialect_(&real->sql()), real_(std::move(real)) {}

  /// `noticed` false: the driver still takes the connection for a good one.
  void cut(bool noticed = true);
  int commits() const noexcept { return commits_; }
  int failed_rollbacks() const noexcept { return failed_rollbacks_; }

  dialect const& sql() const noexcept override { return *dialect_; }
  result<transaction_status> status() override;
  result<> begin(begin_options const&) override;
  result<> commit(std::span<statement const> last, call_limits const&) override;
  result<> rollback() noexcept override;
  result<std::vector<rows>> execute(std::span<statement const>, call_limits const&) override;
  result<> reset() noexcept override;
  void* native_handle() noexcept override;
  std::optional<error> pending_error() noexcept override;
  bool guards_commit() const noexcept override { return real_ && real_->guards_commit(); }

 private:
  dialect const* dialect_;
  std::unique_ptr<session> real_;
  bool noticed_ = true;
  int commits_ = 0;
  int failed_rollbacks_ = 0;
};

/// Sessions for operations, one at a time, each of which can be cut.
class cuttable_pool {
 public:
  explicit cuttable_pool(context&);
  session_source& source() noexcept { return pool_; }
  /// The one that was opened last.
  cuttable_session& last() noexcept { return *last_; }
  int opened() const noexcept { return opened_; }

 private:
  result<std::unique_ptr<session>> open();

  context& context_;
  cuttable_session* last_ = nullptr;
  int opened_ = 0;
  session_pool pool_;
};

}  // namespace idem::inline v1::conformance
