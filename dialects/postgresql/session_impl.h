// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libpq-fe.h>

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <idem/postgresql.h>

#include "dialects/postgresql/session_exchange.h"

namespace idem::inline v1::postgresql::detail {

/// For the statements between the two only: set_config(…, true) ends with the transaction, and the
/// inner call comes first because the outer one needs its result.
/// https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADMIN-SET
/// The second column tells whether the server adds a statement's parameters to what it says of an
/// error. https://www.postgresql.org/docs/15/runtime-config-logging.html
inline constexpr std::string_view set_wait_sql =
    "SELECT pg_catalog.set_config('lock_timeout', $1, pg_catalog.set_config('idem.lock_timeout',"
    " pg_catalog.current_setting('lock_timeout'), true) IS NOT NULL),"
    " pg_catalog.current_setting('log_parameter_max_length_on_error', true)";
inline constexpr std::string_view restore_wait_sql =
    "SELECT pg_catalog.set_config('lock_timeout', pg_catalog.current_setting('idem.lock_timeout'), "
    "true)";

/// The wait limit as `set_wait_sql` takes it.
std::array<parameter, 1> wait_parameters(call_limits const&);

/// Was it another transaction's key that the statement after `set_wait_sql`, which is the command
/// of that number, waited for too long?
bool waited_for_key(flush_answer const&, std::size_t set_wait);

/// Does the answer prove that nothing of the transaction stays? An ERROR undid it. The end of a
/// session may be a pooler's word, put in the place of answers that it had lost: it proves nothing.
bool proves_undone(flush_answer const&, error const&) noexcept;

/// Where the statements of a whole operation are in its flush.
struct whole_places {
  std::size_t claim, effect, save, commit, look;
};

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
  result<whole_answer> run_whole(whole_transaction const&, call_limits const&) override;
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
  void absorb_cancel();
  result<> committed(flush const&, flush_answer, std::size_t saves);
  whole_answer whole_answer_of(flush_answer const&, whole_places const&, bool waits);
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
