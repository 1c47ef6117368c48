// SPDX-License-Identifier: BSL-1.0
// The port over one libpq connection.
#include <poll.h>

#include <array>
#include <utility>

#include "dialects/postgresql/errors.h"
#include "dialects/postgresql/session_impl.h"

namespace idem::inline v1::postgresql::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view commit_sql = "COMMIT";
constexpr std::string_view rollback_sql = "ROLLBACK";

// For the statements between the two only: set_config(…, true) ends with the transaction, and the
// inner call comes first because the outer one needs its result.
// https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADMIN-SET
constexpr std::string_view set_wait_sql =
    "SELECT set_config('lock_timeout', $1, set_config('idem.lock_timeout',"
    " current_setting('lock_timeout'), true) IS NOT NULL)";
constexpr std::string_view restore_wait_sql =
    "SELECT set_config('lock_timeout', current_setting('idem.lock_timeout'), true)";

// What a server says unasked (notices, parameters, its farewell) is read in so many pieces at most.
constexpr int most_idle_reads = 16;

// For the answer to a ROLLBACK or a reset: the server has nothing to wait for.
call_limits soon() { return {.deadline = std::chrono::steady_clock::now() + 10s}; }

struct begin_text {
  isolation level;
  std::string_view writing;
  std::string_view reading;
};

// SNAPSHOT is what REPEATABLE READ is here.
// https://www.postgresql.org/docs/15/transaction-iso.html#XACT-REPEATABLE-READ
constexpr begin_text begins[] = {
    {isolation::engine_default, "BEGIN", "BEGIN READ ONLY"},
    {isolation::read_uncommitted, "BEGIN ISOLATION LEVEL READ UNCOMMITTED",
     "BEGIN ISOLATION LEVEL READ UNCOMMITTED READ ONLY"},
    {isolation::read_committed, "BEGIN ISOLATION LEVEL READ COMMITTED",
     "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"},
    {isolation::repeatable_read, "BEGIN ISOLATION LEVEL REPEATABLE READ",
     "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
    {isolation::snapshot, "BEGIN ISOLATION LEVEL REPEATABLE READ",
     "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
    {isolation::serializable, "BEGIN ISOLATION LEVEL SERIALIZABLE",
     "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY"},
};

std::string_view begin_sql(begin_options const& o) {
  for (auto const& b : begins)
    if (b.level == o.isolation) return o.read_only ? b.reading : b.writing;
  return begins[0].writing;
}

std::unexpected<error> refuse(errc what, std::string message) {
  return std::unexpected(refusal_of(what, std::move(message)));
}

// Zero would wait for ever, and less than a millisecond is zero.
// https://www.postgresql.org/docs/15/runtime-config-client.html#GUC-LOCK-TIMEOUT
std::int64_t lock_timeout_of(std::chrono::milliseconds wait) {
  return std::max<std::int64_t>(wait.count(), 1);
}

error not_committed(errc what, std::string message) {
  error e = refusal_of(what, std::move(message));
  e.phase = phase::commit;
  e.certainty = certainty::rolled_back;
  return e;
}

}  // namespace

postgresql_session::postgresql_session(PGconn* conn, owner whose, bool prepared)
    : conn_(conn), whose_(whose), exchange_(conn, prepared) {
  if (whose == owner::session) PQsetNoticeReceiver(conn, &postgresql_session::on_notice, this);
}

// Notices are for people, but for a server's farewell to an idle connection.
void postgresql_session::on_notice(void* self, PGresult const* notice) noexcept {
  if (ends_session(notice)) static_cast<postgresql_session*>(self)->broken_ = true;
}

postgresql_session::~postgresql_session() {
  if (whose_ == owner::session) {
    PQfinish(conn_);
    return;
  }
  if (begun_) rollback();
}

bool postgresql_session::usable() const noexcept {
  return !broken_ && PQstatus(conn_) == CONNECTION_OK;
}

void postgresql_session::ended() noexcept {
  begun_ = false;
  begin_ = {};
}

// The answer to the ROLLBACK that was sent before.
void postgresql_session::read_rollback() noexcept try {
  if (!rolling_back_) return;
  rolling_back_ = false;
  auto const answered = exchange_.receive(soon(), impatience::leave);
  if (!answered.complete || answered.why) broken_ = true;
} catch (...) {
  broken_ = true;
}

result<transaction_status> postgresql_session::status() {
  read_rollback();
  if (!usable()) return transaction_status::unknown;
  if (!begin_.empty()) return transaction_status::open;
  if (PQpipelineStatus(conn_) != PQ_PIPELINE_OFF) return transaction_status::busy;
  switch (PQtransactionStatus(conn_)) {
    case PQTRANS_INTRANS:
      return transaction_status::open;
    case PQTRANS_INERROR:
      return transaction_status::failed;
    case PQTRANS_ACTIVE:
      return transaction_status::busy;
    case PQTRANS_UNKNOWN:
      return transaction_status::unknown;
    case PQTRANS_IDLE:
      break;
  }
  // A server that has closed an idle connection has said so by now: first a message, then the end.
  pollfd file{PQsocket(conn_), POLLIN, 0};
  for (int reads = 0; reads < most_idle_reads && usable() && ::poll(&file, 1, 0) > 0; ++reads)
    if (PQconsumeInput(conn_) == 1) PQisBusy(conn_);  // looks at what was read
  return usable() ? transaction_status::idle : transaction_status::unknown;
}

result<> postgresql_session::begin(begin_options const& o) {
  auto now = status();
  if (!now) return std::unexpected(std::move(now).error());
  if (*now == transaction_status::unknown) return std::unexpected(lost(conn_));
  if (*now != transaction_status::idle)
    return refuse(errc::session_not_idle,
                  "the connection has a transaction open or unread results");
  if (auto able = ready(o.limits); !able) return able;
  if (auto* memory = connection_memory::of(conn_)) memory->clear_last_failure();
  begin_ = begin_sql(o);
  begun_ = true;
  return {};
}

// May anything be sent?
result<> postgresql_session::ready(call_limits const& limits) {
  read_rollback();
  if (!usable()) return std::unexpected(lost(conn_));
  if (limits.stop.stop_requested()) return refuse(errc::cancelled, "stopped by the caller");
  if (std::chrono::steady_clock::now() >= limits.deadline)
    return refuse(errc::deadline_exceeded, "the deadline has passed");
  if (begun_ && begin_.empty() && PQtransactionStatus(conn_) == PQTRANS_IDLE)
    return refuse(errc::transaction_replaced,
                  "the transaction was ended by the effect: nothing was sent");
  return {};
}

void postgresql_session::add_begin(flush& f) const {
  if (begin_.empty()) return;
  f.commands.push_back({begin_, {}});
  f.begins = true;
}

result<flush_answer> postgresql_session::send(flush const& f, call_limits const& limits,
                                              impatience how) {
  if (auto sent = exchange_.send(f.commands); !sent) {
    broken_ = broken_ || sent.error().what == errc::connection_lost;
    return std::unexpected(std::move(sent).error());
  }
  auto answered = exchange_.receive(limits, how);
  if (!answered.complete) broken_ = true;
  return answered;
}

// A prepared statement that the server does not have, or not so any more: nothing of the flush
// has taken place if it began its transaction, so it is sent again with all statements prepared
// anew. Otherwise the transaction is lost, and the whole of it may be tried again.
result<flush_answer> postgresql_session::send_again_if_stale(flush const& f,
                                                             call_limits const& limits,
                                                             impatience how) {
  bool const alone = f.begins || PQtransactionStatus(conn_) == PQTRANS_IDLE;
  auto answered = send(f, limits, how);
  if (!answered || !answered->stale || !answered->complete) return answered;
  if (auto* memory = connection_memory::of(conn_)) memory->forget_statements();
  if (alone) {
    if (auto undone = send_rollback(); !undone) return std::unexpected(std::move(undone).error());
    read_rollback();
    return send(f, limits, how);
  }
  answered->why->advice = advice::new_transaction;
  return answered;
}

result<std::vector<rows>> postgresql_session::execute(std::span<statement const> all,
                                                      call_limits const& limits) {
  if (auto able = ready(limits); !able) return std::unexpected(std::move(able).error());
  flush f;
  add_begin(f);
  std::array<parameter, 1> wait;
  if (limits.wait_limit) wait = {parameter(lock_timeout_of(*limits.wait_limit))};
  if (limits.wait_limit) f.commands.push_back({set_wait_sql, wait});
  f.first = f.commands.size();
  for (auto const& one : all) f.commands.push_back({one.sql, one.parameters, false});
  if (limits.wait_limit) f.commands.push_back({restore_wait_sql, {}});
  auto answered = send_again_if_stale(f, limits, impatience::cancel);
  if (!answered) return std::unexpected(std::move(answered).error());
  begin_ = {};
  if (answered->why) return std::unexpected(std::move(*answered->why));
  std::vector<rows> out;
  out.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto read = read_rows(answered->results[f.first + i].get());
    if (!read) return std::unexpected(std::move(read).error());
    out.push_back(std::move(*read));
  }
  if (begun_ && PQtransactionStatus(conn_) == PQTRANS_IDLE)
    return refuse(errc::transaction_replaced, "the statement ended the transaction");
  return out;
}

result<> postgresql_session::commit(std::span<statement const> last, call_limits const& limits) {
  read_rollback();
  if (!begin_.empty() && last.empty()) {  // nothing was ever sent
    ended();
    return {};
  }
  if (auto able = ready(limits); !able) {
    error e = std::move(able).error();
    e.phase = phase::commit;
    e.certainty = certainty::rolled_back;
    return std::unexpected(std::move(e));
  }
  flush f;
  add_begin(f);
  f.first = f.commands.size();
  for (auto const& one : last) f.commands.push_back({one.sql, one.parameters});
  f.commands.push_back({commit_sql, {}});
  auto answered = send(f, limits, impatience::leave);
  if (!answered) {
    // Part of it may have gone out, and a server obeys a COMMIT without the Sync behind it.
    error e = std::move(answered).error();
    e.phase = phase::commit;
    e.certainty = e.what == errc::connection_lost ? certainty::in_doubt : certainty::rolled_back;
    return std::unexpected(std::move(e));
  }
  return committed(f, std::move(*answered), last.size());
}

// What the answers to the last statements and to COMMIT prove.
result<> postgresql_session::committed(flush const& f, flush_answer answered, std::size_t saves) {
  begin_ = {};
  std::size_t const at_commit = f.first + saves;
  auto const* tag = answered.results[at_commit].get();
  if (!answered.why || (tag != nullptr && !answered.failed)) {
    if (tag != nullptr && PQcmdStatus(const_cast<PGresult*>(tag)) == commit_sql) {
      ended();
      return {};
    }
    // COMMIT of a failed transaction is answered with ROLLBACK and is no error.
    // https://www.postgresql.org/docs/15/protocol-flow.html
    ended();
    return std::unexpected(
        not_committed(errc::transaction_aborted,
                      "the server answered COMMIT with ROLLBACK: a statement had failed before"));
  }
  error e = std::move(*answered.why);
  // Where the connection breaks without the server's words, libpq fails the first command that it
  // has no answer to, and the server may have obeyed all of them.
  bool const told = answered.failed && !e.native.sqlstate.empty();
  bool const before_commit = told && *answered.failed < at_commit;
  e.phase = before_commit ? phase::save : phase::commit;
  // An ERROR undid the transaction, and so did the end of the session if it was told before
  // COMMIT was: the server answers in order. A session that ended later may have committed.
  bool const undone = told && (before_commit || !answered.fatal);
  e.certainty = undone ? certainty::rolled_back : certainty::in_doubt;
  if (answered.stale && undone) {
    if (auto* memory = connection_memory::of(conn_)) memory->forget_statements();
    e.advice = advice::new_transaction;
  }
  return std::unexpected(std::move(e));
}

result<> postgresql_session::send_rollback() {
  std::array<command, 1> const one{command{rollback_sql, {}}};
  if (auto sent = exchange_.send(one); !sent) {
    broken_ = true;
    return sent;
  }
  rolling_back_ = true;
  // The rest, if the socket takes it not all now, goes before the next answer is read.
  PQflush(conn_);
  return {};
}

// Whatever the answer is, nothing of the transaction stays: it is read before the next use. On the
// caller's connection it is read now.
result<> postgresql_session::rollback() noexcept try {
  read_rollback();
  bool const sent_nothing = !begin_.empty();
  ended();
  if (!usable()) return std::unexpected(lost(conn_));
  if (sent_nothing || PQtransactionStatus(conn_) == PQTRANS_IDLE) return {};
  if (PQpipelineStatus(conn_) != PQ_PIPELINE_OFF || PQtransactionStatus(conn_) == PQTRANS_ACTIVE) {
    broken_ = true;
    return refuse(errc::session_not_idle, "the connection has unread results");
  }
  if (auto sent = send_rollback(); !sent) return sent;
  if (whose_ == owner::session) return {};
  read_rollback();
  if (usable()) return {};
  return std::unexpected(lost(conn_));
} catch (...) {
  broken_ = true;
  return std::unexpected(error{});
}

result<> postgresql_session::run_now(std::string_view sql) {
  flush f;
  f.commands.push_back({sql, {}});
  auto answered = send(f, soon(), impatience::leave);
  if (!answered) return std::unexpected(std::move(answered).error());
  if (answered->why) return std::unexpected(std::move(*answered->why));
  return {};
}

result<> postgresql_session::reset() noexcept try {
  if (begun_ || !begin_.empty())
    if (auto undone = rollback(); !undone) return undone;
  if (whose_ == owner::caller) return {};
  // A cancel on its way may hit the next user's statement.
  if (exchange_.cancelled()) broken_ = true;
  if (!usable()) return std::unexpected(lost(conn_));
  auto* memory = connection_memory::of(conn_);
  bool const touched = handle_given_ || memory == nullptr || memory->settings_changed();
  if (!touched && rolling_back_) return {};
  read_rollback();
  if (auto now = status(); !now || *now != transaction_status::idle) {
    if (auto undone = rollback(); !undone) return undone;
    read_rollback();
    if (!usable()) return std::unexpected(lost(conn_));
  }
  if (!touched) return {};
  // Settings go back to those of the connection's start.
  // https://www.postgresql.org/docs/15/sql-discard.html
  if (auto done = run_now("DISCARD ALL"); !done) return done;
  handle_given_ = false;
  if (memory != nullptr) {
    memory->forget_statements();
    memory->clean();
  }
  return {};
} catch (...) {
  return std::unexpected(error{});
}

void* postgresql_session::native_handle() noexcept {
  read_rollback();
  handle_given_ = true;
  if (begin_.empty() || !usable()) return conn_;
  // Whoever uses the handle finds the transaction open; if not, the next call says so.
  try {
    auto const sql = std::exchange(begin_, {});
    if (!run_now(sql)) broken_ = true;
  } catch (...) {
    broken_ = true;
  }
  return conn_;
}

std::optional<error> postgresql_session::pending_error() noexcept try {
  if (PQstatus(conn_) == CONNECTION_BAD) return lost(conn_);
  auto const* memory = connection_memory::of(conn_);
  bool const failed = PQtransactionStatus(conn_) == PQTRANS_INERROR;
  if (!failed || memory == nullptr || memory->last_failure().empty()) return std::nullopt;
  error e;
  e.native.sqlstate = memory->last_failure();
  auto const means = classify(e.native);
  e.what = means.what;
  e.advice = means.advice;
  e.message = "a statement of the effect failed (SQLSTATE " + e.native.sqlstate + ")";
  return e;
} catch (...) {
  return std::nullopt;
}

}  // namespace idem::inline v1::postgresql::detail
