// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <idem/session.h>

namespace idem::inline v1::detail {

/// The session as an effect sees it: statements and the handle, but not the port's own means of
/// beginning and ending a transaction, past which nobody could tell what was committed.
class lent_session final : public session {
 public:
  explicit lent_session(session& real) noexcept : real_(&real) {}

  dialect const& sql() const noexcept override { return real_->sql(); }
  result<transaction_status> status() override { return real_->status(); }
  result<> begin(begin_options const&) override { return refuse(); }
  result<> commit(std::span<statement const>, call_limits const&) override { return refuse(); }
  result<> rollback() noexcept override { return refuse(); }
  result<std::vector<rows>> execute(std::span<statement const> s, call_limits const& l) override {
    return real_->execute(s, l);
  }
  result<> reset() noexcept override { return refuse(); }
  void* native_handle() noexcept override { return real_->native_handle(); }
  std::optional<error> pending_error() noexcept override { return real_->pending_error(); }
  bool guards_commit() const noexcept override { return real_->guards_commit(); }
  std::string one_writer_of() override { return real_->one_writer_of(); }

 private:
  static std::unexpected<error> refuse() {
    error e;
    e.what = errc::unsupported;
    e.phase = phase::effect;
    e.message = "an effect must not begin, end or reset the session that it was lent";
    return std::unexpected(std::move(e));
  }

  session* real_;
};

}  // namespace idem::inline v1::detail
