// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dialects/postgresql/session_errors.h"
#include "dialects/postgresql/session_memory.h"

namespace idem::inline v1::postgresql::detail {

/// One statement of a flush.
struct command {
  std::string_view sql;
  std::span<parameter const> parameters;
  bool ours = true;   ///< the session's or the protocol's, no effect's
  bool once = false;  ///< never prepared: it must work where the server has lost its names
  /// A Sync goes behind it, as behind the last: what follows is run even if this part failed.
  bool ends_part = false;
};

/// What came back for a flush.
struct flush_answer {
  std::vector<result_ptr> results;    ///< one a command, as far as any came
  std::optional<std::size_t> failed;  ///< the first command that failed
  std::optional<error> why;           ///< of `failed`, or of the connection
  bool stale = false;        ///< it failed because the server does not have its prepared statement
  bool complete = false;     ///< everything was answered: the connection is in order
  bool fatal = false;        ///< the server ended the session with `why`
  std::size_t contexts = 0;  ///< lines of context that the server added to `why`
  bool servers = false;      ///< `why` is the server's own word, not a pooler's
  std::size_t part = 0;      ///< of `failed`
  std::optional<error> later;  ///< of a part behind the one that failed
  bool cancelled = false;      ///< a cancel was sent while the answers were awaited
};

/// What is done when the caller's patience ends.
enum class impatience : std::uint8_t {
  cancel,  ///< the statement is cancelled in the server, and its answer awaited for a while
  leave,   ///< the answer is given up, a while after the deadline
};

/// Sends several statements in one flush and reads their answers: one round trip, in libpq's
/// pipeline mode, which it enters and leaves. Not thread-safe.
/// https://www.postgresql.org/docs/15/libpq-pipeline-mode.html
class exchange {
 public:
  exchange(PGconn* conn, bool prepared) : conn_(conn), prepared_(prepared) {}

  /// Errors, nothing sent: `invalid_argument`, `connection_lost`.
  result<> send(std::span<command const>);
  /// Reads what `send` was answered.
  flush_answer receive(call_limits const&, impatience);

  /// A flush was sent and is not yet read.
  bool pending() const noexcept { return !steps_.empty(); }
  /// A cancel was sent, which may hit whatever comes next on this connection.
  bool cancelled() const noexcept { return cancelled_.has_value(); }
  /// Waits a while until the server has passed the cancel on. From then on it hits at most what is
  /// sent next. False: it may still be under way.
  bool await_cancel();

 private:
  // What libpq was given, in order. A Sync has no command.
  struct step {
    std::optional<std::size_t> command;
    prepared_statement* statement;  ///< null: sent unprepared
    bool prepares;
    bool known;  ///< was known to the server when it was sent
    std::size_t part = 0;
  };

  // One statement, ready to be sent.
  struct outgoing {
    bound_parameters bound;
    prepared_statement* statement = nullptr;
    std::string sql;  ///< with numbered placeholders; empty if the server knows the statement
  };

  class patience;

  result<outgoing> make_ready(command const&) const;
  bool post(outgoing const&, std::size_t place);
  bool post_sync();
  bool prepares_already(prepared_statement const*) const noexcept;
  bool leave_pipeline() noexcept;
  void read_step(step const&, flush_answer&, patience&);
  bool read_sync(patience&);
  void note(step const&, result_ptr, flush_answer&);
  void tell_who_ended(error&) const;
  result_ptr next_result(patience&);

  PGconn* conn_;
  bool prepared_;
  bool was_nonblocking_ = false;
  std::vector<step> steps_;
  std::size_t commands_ = 0;
  std::size_t parts_ = 0;
  std::optional<errc> cancelled_;
  std::future<void> cancelling_;
};

/// Waits until the socket of a connection can be read, or written too. False: `until` has passed
/// or `stop` is requested.
bool wait_for_socket(PGconn*, bool for_writing, bool for_reading,
                     std::chrono::steady_clock::time_point until, std::stop_token const& stop);

}  // namespace idem::inline v1::postgresql::detail
