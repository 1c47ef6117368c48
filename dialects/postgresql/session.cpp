// SPDX-License-Identifier: BSL-1.0
// The port over one libpq connection.
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "dialects/postgresql/errors.h"
#include "dialects/postgresql/session_impl.h"

namespace idem::inline v1::postgresql::detail {

namespace {

// What a server says unasked (notices, parameters, its farewell) is read in so many pieces at most.
constexpr int most_idle_reads = 16;

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

}  // namespace

// Zero would wait for ever, and less than a millisecond is zero.
// https://www.postgresql.org/docs/15/runtime-config-client.html#GUC-LOCK-TIMEOUT
std::array<parameter, 1> wait_parameters(call_limits const& limits) {
  if (!limits.wait_limit) return {};
  return {parameter(std::max<std::int64_t>(limits.wait_limit->count(), 1))};
}

// Whoever waits for another transaction's key says so in one line of context, in whatever
// language; a wait for the whole table has none, for it is made before any row is looked at.
// https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/storage/lmgr/lmgr.c
// (XactLockTableWaitErrorCb). Another line holds the parameters, where the server is set so.
// https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/nodes/params.c
bool waited_for_key(flush_answer const& answered, std::size_t set_wait) {
  auto const* settings = answered.results[set_wait].get();
  if (settings == nullptr || PQntuples(settings) != 1 || PQnfields(settings) != 2) return false;
  bool const plain = std::string_view(PQgetvalue(settings, 0, 1)) == "0";
  return answered.contexts == (plain ? 1U : 2U);
}

// What the server has to say at once is awaited for the rest of the caller's time, and 10 seconds
// at most; the exchange adds its grace.
call_limits postgresql_session::soon() const {
  auto const now = std::chrono::steady_clock::now();
  return {.deadline = std::clamp(deadline_, now, now + std::chrono::seconds(10))};
}

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
  wait_left_ = false;
}

// The answer to the ROLLBACK that was sent before. For a session of ours the exchange's grace has
// to do: whoever asks for the answer now has a deadline that is not known here, and another
// connection costs less than to wait for a server that is silent.
void postgresql_session::read_rollback() noexcept try {
  if (!rolling_back_) return;
  rolling_back_ = false;
  call_limits const now{.deadline = std::chrono::steady_clock::now()};
  auto const answered =
      exchange_.receive(whose_ == owner::session ? now : soon(), impatience::leave);
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
  deadline_ = o.limits.deadline;
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
  if (PQpipelineStatus(conn_) != PQ_PIPELINE_OFF || PQtransactionStatus(conn_) == PQTRANS_ACTIVE)
    return refuse(errc::session_not_idle, "the connection has unread results or a pipeline");
  if (!begin_.empty() && PQtransactionStatus(conn_) != PQTRANS_IDLE)
    return refuse(errc::session_not_idle, "another has begun a transaction on the connection");
  if (begun_ && begin_.empty() && PQtransactionStatus(conn_) == PQTRANS_IDLE)
    return refuse(errc::transaction_replaced,
                  "the transaction was ended by the effect: nothing was sent");
  return {};
}

void postgresql_session::add_begin(flush& f) const {
  if (begin_.empty()) return;
  f.commands.push_back({begin_, {}, true, true});
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
  if (answered.cancelled && !broken_) absorb_cancel();
  return answered;
}

// The answer can come before the cancel does, and then it hits the next statement, which may be the
// caller's own: so that is one that nobody misses.
void postgresql_session::absorb_cancel() {
  static constexpr std::array<command, 1> nothing{command{"SELECT 1", {}, true, true}};
  if (!exchange_.await_cancel() || !exchange_.send(nothing)) {
    broken_ = true;
    return;
  }
  auto const answered = exchange_.receive(soon(), impatience::leave);
  if (!answered.complete) broken_ = true;
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
  deadline_ = limits.deadline;
  flush f;
  add_begin(f);
  auto const wait = wait_parameters(limits);
  if (limits.wait_limit) f.commands.push_back({set_wait_sql, wait});
  f.first = f.commands.size();
  for (auto const& one : all) f.commands.push_back({one.sql, one.parameters, false});
  // A failed call could not restore it: the next one can, behind a savepoint that went back.
  bool const restores =
      limits.wait_limit || (wait_left_ && PQtransactionStatus(conn_) == PQTRANS_INERROR);
  if (restores) f.commands.push_back({restore_wait_sql, {}});
  auto answered = send_again_if_stale(f, limits, impatience::cancel);
  if (!answered) return std::unexpected(std::move(answered).error());
  begin_ = {};
  wait_left_ = restores && answered->why;
  if (answered->why) {
    error& e = *answered->why;
    if (e.what == errc::lock_timeout)
      e.wait_unnamed = !limits.wait_limit || !waited_for_key(*answered, f.first - 1);
    return std::unexpected(std::move(e));
  }
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

result<> postgresql_session::run_now(std::string_view sql) {
  flush f;
  f.commands.push_back({sql, {}, true, true});
  auto answered = send(f, soon(), impatience::leave);
  if (!answered) return std::unexpected(std::move(answered).error());
  if (answered->why) return std::unexpected(std::move(*answered->why));
  return {};
}

void* postgresql_session::native_handle() noexcept try {
  read_rollback();
  handle_given_ = true;
  if (begin_.empty() || !usable()) return conn_;
  // Whoever uses the handle finds the transaction open, or gets no handle.
  auto const sql = std::exchange(begin_, {});
  if (run_now(sql)) return conn_;
  broken_ = true;
  return nullptr;
} catch (...) {
  broken_ = true;
  return nullptr;
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
