// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <idem/postgresql.h>

#include "dialects/postgresql/session_exchange.h"

namespace idem::inline v1::postgresql::detail {

class postgresql_session final : public session {
 public:
  enum class owner : std::uint8_t { session, caller };

  postgresql_session(PGconn*, owner, bool prepared);
  ~postgresql_session() override;

  dialect const& sql() const noexcept override { return dialect_value(); }
  result<transaction_status> status() override;
  result<> begin(begin_options const&) override;
  result<> commit(std::span<statement const> last, call_limits const&) override;
  result<> rollback() noexcept override;
  result<std::vector<rows>> execute(std::span<statement const>, call_limits const&) override;
  result<> reset() noexcept override;
  void* native_handle() noexcept override;
  std::optional<error> pending_error() noexcept override;

 private:
  struct flush {
    std::vector<command> commands;
    std::size_t first = 0;  ///< where the caller's begin
    bool begins = false;
  };

  static void on_notice(void* self, PGresult const*) noexcept;
  bool usable() const noexcept;
  call_limits soon() const;
  void read_rollback() noexcept;
  result<> ready(call_limits const&);
  void add_begin(flush&) const;
  result<flush_answer> send(flush const&, call_limits const&, impatience);
  result<flush_answer> send_again_if_stale(flush const&, call_limits const&, impatience);
  void read_unread();
  result<> send_rollback();
  result<> run_now(std::string_view sql);
  result<> committed(flush const&, flush_answer, std::size_t saves);
  void ended() noexcept;

  PGconn* conn_;
  owner whose_;
  exchange exchange_;
  std::string_view begin_;  ///< not yet sent
  /// Of the last call that had one.
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  bool begun_ = false;         ///< this session began a transaction and has not ended it
  bool rolling_back_ = false;  ///< ROLLBACK is sent and its answer not read
  bool broken_ = false;        ///< nothing can be said of the connection any more
  bool wait_left_ = false;     ///< a call that failed has left its wait limit in the transaction
  bool handle_given_ = false;  ///< since the last reset
};

}  // namespace idem::inline v1::postgresql::detail
