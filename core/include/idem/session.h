// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <idem/dialect.h>
#include <idem/error.h>
#include <idem/value.h>

namespace idem::inline v1 {

enum class isolation : std::uint8_t {
  engine_default,
  read_uncommitted,
  read_committed,
  repeatable_read,
  snapshot,
  serializable,
};

/// The state of a session, as the server or its driver tells it.
enum class transaction_status : std::uint8_t {
  idle,     ///< no transaction, nothing unread
  open,     ///< a transaction that accepts statements
  failed,   ///< a transaction that can only be rolled back
  busy,     ///< unread results or a pipeline: not for us
  unknown,  ///< the connection is broken or cannot say: discard it
};

/// Until when a call may take. Default: without limit.
struct call_limits {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop;
  /// How long to wait for a lock that another transaction holds. Zero: do not wait. Nothing:
  /// as the session is set.
  std::optional<std::chrono::milliseconds> wait_limit;
};

struct begin_options {
  idem::isolation isolation = idem::isolation::engine_default;
  bool read_only = false;
  call_limits limits;
};

struct statement {
  std::string_view sql;
  std::span<parameter const> parameters;
};

/// One transaction of which every statement is known before it begins.
struct whole_transaction {
  idem::isolation isolation = idem::isolation::engine_default;
  /// Fails where the key is taken. The wait limit bounds it and the look, not the effect.
  statement claim;
  std::span<statement const> effect;
  /// Fails in the server unless exactly one row matches.
  statement save;
  /// Read outside the transaction when it has ended.
  statement look;
};

/// What became of it.
struct whole_answer {
  /// Nothing if it is committed. The phase says where it failed: `claim`, `effect`, `save`,
  /// `commit`; the certainty is `rolled_back` or `in_doubt`.
  std::optional<error> failure;
  /// Of a failure: what `look` found, or why it found nothing.
  std::optional<result<rows>> found;
};

/// The port: one connection, used by one thread at a time, at most one transaction.
///
/// Errors that come from the server carry its native codes and the dialect's meaning of them;
/// the session leaves `phase` and `certainty` to its caller, but for `commit`.
class session {
 public:
  session() = default;
  session(session const&) = delete;
  session& operator=(session const&) = delete;
  virtual ~session() = default;

  /// The engine's dialect; lives as long as the session.
  virtual dialect const& sql() const noexcept = 0;

  /// The truth about the transaction. May cost a round trip where the driver cannot say.
  [[nodiscard]] virtual result<transaction_status> status() = 0;

  /// Opens a transaction, ready to write unless `read_only`. May be held back and travel with
  /// the first `execute`, whose error is then the begin's.
  [[nodiscard]] virtual result<> begin(begin_options const&) = 0;

  /// Sends `last` and then COMMIT. Succeeds only if the server said that this transaction is
  /// committed. On an error `certainty` is `in_doubt` if COMMIT may have taken place, else
  /// `rolled_back` if the transaction is known to be gone or can be rolled back.
  [[nodiscard]] virtual result<> commit(std::span<statement const> last, call_limits const&) = 0;

  /// Ends the transaction. Success also where none is open.
  [[nodiscard]] virtual result<> rollback() noexcept = 0;

  /// Runs the statements in order, in one round trip where the driver can, and stops at the
  /// first that fails. In a transaction that this session opened, never lets a statement
  /// commit by itself: if that transaction is gone, `transaction_replaced`, nothing sent.
  [[nodiscard]] virtual result<std::vector<rows>> execute(std::span<statement const>,
                                                          call_limits const&) = 0;

  /// Runs all of it in one round trip, on an idle session: begin, claim, effect, save, COMMIT and
  /// then the look. A statement that fails keeps those behind it from being run, COMMIT too.
  /// Errors, nothing sent: `unsupported` where the driver or engine cannot; `invalid_argument` for
  /// a statement that the session cannot let pass there (one that ends a transaction); as `begin`.
  [[nodiscard]] virtual result<whole_answer> run_whole(whole_transaction const&,
                                                       call_limits const&);

  /// Makes the session as new for the next user: no transaction, settings as configured. An
  /// error means that it must be discarded.
  [[nodiscard]] virtual result<> reset() noexcept = 0;

  /// The driver's handle (the engine's header says its type). Owned by the session.
  virtual void* native_handle() noexcept = 0;

  /// The handle's own last error, for an effect that used the handle and whose exception
  /// hides the code.
  virtual std::optional<error> pending_error() noexcept { return std::nullopt; }

  /// True if nothing that an effect does, with the handle either, can commit between our
  /// begin and our commit. Then a transaction that was ended under us left nothing.
  virtual bool guards_commit() const noexcept { return false; }

  /// Names the database if one transaction at a time can be open in it for writing, the same
  /// for each of its sessions in this process; else empty.
  virtual std::string one_writer_of() { return {}; }
};

/// Where sessions come from. Thread-safe.
class session_source {
 public:
  session_source() = default;
  session_source(session_source const&) = delete;
  session_source& operator=(session_source const&) = delete;
  virtual ~session_source() = default;

  /// A session for the caller's exclusive use until `release`. Owned by the source.
  /// Errors: `connection_failed`, `resource_exhausted` (none became free in time),
  /// `cancelled`, `deadline_exceeded`.
  [[nodiscard]] virtual result<session*> acquire(call_limits const&) = 0;

  /// Gives it back. The source discards it unless `reusable`, and unless `session::reset`
  /// succeeds.
  virtual void release(session*, bool reusable) noexcept = 0;

  /// How many sessions can be out at once. A run that an effect calls is refused with
  /// `session_not_idle` if the runs around it have all of them.
  virtual std::size_t capacity() const noexcept { return std::numeric_limits<std::size_t>::max(); }
};

/// Holds an acquired session and gives it back.
class session_lease {
 public:
  [[nodiscard]] static result<session_lease> acquire(session_source&, call_limits const&);
  session_lease(session_lease&&) noexcept;
  session_lease& operator=(session_lease&&) = delete;
  ~session_lease();

  session& operator*() const noexcept { return *session_; }
  session* operator->() const noexcept { return session_; }
  /// The session's state is unknown: it is discarded when given back.
  void discard() noexcept { reusable_ = false; }

 private:
  session_lease(session_source&, session&);
  session_source* source_;
  session* session_;
  bool reusable_ = true;
};

/// A source of one session that the caller owns, who also resets it. A second `acquire` while it is
/// out is `session_not_idle`; after it was released as not reusable, `connection_lost`: there is no
/// second connection, so an answer lost at COMMIT stays in doubt.
class lone_session final : public session_source {
 public:
  explicit lone_session(session& s) : session_(&s) {}
  [[nodiscard]] result<session*> acquire(call_limits const&) override;
  void release(session*, bool reusable) noexcept override;

 private:
  session* session_;
  std::atomic<bool> out_ = false;
  std::atomic<bool> broken_ = false;
};

}  // namespace idem::inline v1
