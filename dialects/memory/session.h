// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include <idem/memory.h>

#include "dialects/memory/database.h"
#include "dialects/memory/errors.h"

namespace idem::inline v1::memory::detail {

class memory_session final : public session {
 public:
  explicit memory_session(std::shared_ptr<engine>);
  ~memory_session() override;

  dialect const& sql() const noexcept override { return dialect_value(); }
  result<transaction_status> status() override;
  result<> begin(begin_options const&) override;
  result<> commit(std::span<statement const> last, call_limits const&) override;
  result<> rollback() noexcept override;
  result<std::vector<rows>> execute(std::span<statement const>, call_limits const&) override;
  result<> reset() noexcept override;
  void* native_handle() noexcept override { return this; }
  std::optional<error> pending_error() noexcept override;

  // What memory.h shows of a session.
  std::uint64_t id() const noexcept { return id_; }
  bool waiting() noexcept;
  std::uint64_t transaction_serial() noexcept;
  void set_wait_limit(std::chrono::milliseconds);
  std::chrono::milliseconds wait_limit() noexcept;
  void disconnect();
  void fail_next_commit(commit_fault);

 private:
  using held = std::unique_lock<std::mutex>;

  bool lost() const noexcept { return lost_ || db_->start() != start_; }
  result<std::vector<rows>> run_all(held&, std::span<statement const>, call_limits const&);
  result<rows> run_one(held&, statement const&, call_limits const&);
  result<rows> run_alone(held&, statement const&, patience const&);
  std::optional<result<>> control(std::string_view text);
  void open(bool read_only);
  void close();
  result<> end_with_commit();
  result<> lose_connection(bool committed);

  std::shared_ptr<engine> const db_;
  std::uint64_t id_ = 0;
  std::uint64_t start_ = 0;  ///< of the engine, when connected
  bool lost_ = false;
  bool ours_ = false;  ///< between our begin and our commit, whatever the effect does
  std::optional<open_transaction> transaction_;
  std::optional<error> last_error_;
  std::optional<commit_fault> next_commit_;
  std::chrono::milliseconds wait_limit_ = default_wait_limit;
};

}  // namespace idem::inline v1::memory::detail
