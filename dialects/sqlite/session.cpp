// SPDX-License-Identifier: BSL-1.0
// The port over one SQLite handle.
#include <sqlite3.h>

#include <utility>

#include "dialects/sqlite/errors.h"
#include "dialects/sqlite/session_errors.h"
#include "dialects/sqlite/session_impl.h"

namespace idem::inline v1::sqlite::detail {

namespace {

// Deferred would take the write lock at the first write, and by then may have to give up
// (SQLITE_BUSY_SNAPSHOT), however long it may wait. https://sqlite.org/lang_transaction.html
constexpr std::string_view begin_sql = "BEGIN IMMEDIATE";
constexpr std::string_view begin_reading_sql = "BEGIN";
constexpr std::string_view commit_sql = "COMMIT";

std::unexpected<error> refuse(errc what, std::string message) {
  return std::unexpected(refusal_of(what, std::move(message)));
}

constexpr int primary(std::int64_t code) { return static_cast<int>(code & 0xff); }

}  // namespace

void commit_guard::install(sqlite3* db) {
  sqlite3_commit_hook(db, &commit_guard::on_commit, this);
  sqlite3_rollback_hook(db, &commit_guard::on_rollback, this);
}

void commit_guard::remove(sqlite3* db) noexcept {
  sqlite3_commit_hook(db, nullptr, nullptr);
  sqlite3_rollback_hook(db, nullptr, nullptr);
}

int commit_guard::on_commit(void* self) noexcept {
  auto& guard = *static_cast<commit_guard*>(self);
  if (!guard.armed || guard.ours) return 0;
  guard.broken = true;
  return 1;
}

void commit_guard::on_rollback(void* self) noexcept {
  auto& guard = *static_cast<commit_guard*>(self);
  if (guard.armed && !guard.ours) guard.broken = true;
}

sqlite_session::sqlite_session(sqlite3* db, std::optional<options> opened_with, hooks whose)
    : db_(db),
      owned_(std::move(opened_with)),
      whose_hooks_(whose),
      wait_(db, owned_ ? std::optional(owned_->busy) : std::nullopt),
      statements_(db) {}

sqlite_session::~sqlite_session() {
  if (begun_ || owned_) rollback();
  if (begun_ && whose_hooks_ == hooks::session) commit_guard::remove(db_);  // it failed
  statements_.clear();
  if (!owned_) return;
  // A statement that an effect did not finalize keeps the handle alive, but not this object. One
  // that is running would keep its locks too, and everybody else from the file, until this process
  // ends. https://sqlite.org/c3ref/close.html
  for (auto* s = sqlite3_next_stmt(db_, nullptr); s != nullptr; s = sqlite3_next_stmt(db_, s))
    sqlite3_reset(s);
  sqlite3_busy_handler(db_, nullptr, nullptr);
  commit_guard::remove(db_);
  sqlite3_close_v2(db_);
}

result<> sqlite_session::configure(call_limits const& limits) {
  lock_wait::call const call(wait_, limits, lock_wait::call::interrupt::allowed);
  auto applied = handle_settings::apply(db_, *owned_, wait_);
  if (!applied) return std::unexpected(wait_.explain(std::move(applied).error()));
  settings_ = *applied;
  return {};
}

bool sqlite_session::in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }

bool sqlite_session::has_busy_statement(bool only_writers) const noexcept {
  for (auto* s = sqlite3_next_stmt(db_, nullptr); s != nullptr; s = sqlite3_next_stmt(db_, s))
    if (sqlite3_stmt_busy(s) != 0 && !(only_writers && sqlite3_stmt_readonly(s) != 0)) return true;
  return false;
}

// With WAL SQLite goes on writing to a file that was deleted or replaced, where nobody else will
// find it. https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlhasmoved
bool sqlite_session::has_moved() const noexcept {
  auto const* name = sqlite3_db_filename(db_, "main");
  if (name == nullptr || *name == '\0') return false;  // a temporary one has no name from the start
  int moved = 0;
  return sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

// The full path; two names of one file are taken for two files. A private database has none.
// https://sqlite.org/c3ref/db_filename.html
std::string sqlite_session::one_writer_of() {
  auto const* name = sqlite3_db_filename(db_, "main");
  return name == nullptr || *name == '\0' ? std::string() : "sqlite:" + std::string(name);
}

result<transaction_status> sqlite_session::status() {
  if (in_transaction())
    return guard_.broken ? transaction_status::failed : transaction_status::open;
  if (has_moved()) return transaction_status::unknown;
  return has_busy_statement(false) ? transaction_status::busy : transaction_status::idle;
}

result<> sqlite_session::may_begin(begin_options const& o) const {
  if (in_transaction())
    return refuse(errc::session_not_idle, "the handle has a transaction open: end that first");
  if (o.isolation != isolation::engine_default && o.isolation != isolation::serializable)
    return refuse(errc::isolation_mismatch,
                  "SQLite's transactions are serializable and nothing else: ask for that or for "
                  "the engine's default");
  // BEGIN IMMEDIATE succeeds on a file opened for reading only (tried with 3.40).
  if (!o.read_only && sqlite3_db_readonly(db_, "main") == 1)
    return refuse(errc::read_only,
                  "the database is open for reading only: open it for writing (mode=rw), or give "
                  "this process the right to write the file");
  return wait_.patience();
}

result<> sqlite_session::begin(begin_options const& o) {
  lock_wait::call const call(wait_, o.limits, lock_wait::call::interrupt::allowed);
  if (auto may = may_begin(o); !may) return may;
  guard_ = {};
  guard_lost_ = false;
  if (whose_hooks_ == hooks::session) guard_.install(db_);
  if (auto begun = run_one(o.read_only ? begin_reading_sql : begin_sql); !begun) {
    end();
    return begun;
  }
  begun_ = true;
  guard_.armed = whose_hooks_ == hooks::session;
  if (!o.read_only) return {};
  auto reading = set_query_only(true);
  if (!reading) rollback();
  return reading;
}

result<> sqlite_session::set_query_only(bool on) {
  // A caller's own setting is left as it is.
  if (on) {
    auto const before = run_statement(db_, statements_, {"SELECT * FROM pragma_query_only", {}});
    if (!before) return std::unexpected(before.error());
    if (before->empty() || as_integer((*before)[0][0]) != 0) return {};
  }
  auto const* pragma = on ? "PRAGMA query_only = ON" : "PRAGMA query_only = OFF";
  if (sqlite3_exec(db_, pragma, nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(last_error(db_));
  query_only_ = on;
  return {};
}

void sqlite_session::end() noexcept {
  begun_ = false;
  guard_ = {};
  if (!owned_ && whose_hooks_ == hooks::session) commit_guard::remove(db_);
  // Only memory can be short for this; the next reset says so.
  if (query_only_ &&
      sqlite3_exec(db_, "PRAGMA query_only = OFF", nullptr, nullptr, nullptr) == SQLITE_OK)
    query_only_ = false;
}

result<> sqlite_session::may_run() const {
  if (auto patient = wait_.patience(); !patient) return patient;
  if (!begun_ || (in_transaction() && !guard_.broken)) return {};
  return refuse(errc::transaction_replaced,
                "the transaction was ended, by the effect or by SQLite after an error: nothing "
                "was sent");
}

// The same code stands for another's lock and for a statement of this handle that still writes:
// with one, RELEASE and COMMIT are refused. https://sqlite.org/lang_savepoint.html
error sqlite_session::blocked_by_itself(error e) const {
  if (!begun_ || primary(e.native.code) != SQLITE_BUSY || !has_busy_statement(true)) return e;
  e.what = errc::session_not_idle;
  e.advice = advice::never;
  e.message = "a statement that writes is still running on the handle: reset or finalize it";
  return e;
}

// What the hook stops is reported as a constraint; here it is known to be ours.
error sqlite_session::stopped_by_guard(error e) const {
  if (!guard_.broken || e.native.code != SQLITE_CONSTRAINT_COMMITHOOK) return e;
  e.what = errc::transaction_replaced;
  e.message = "a COMMIT that is not the operation's own was turned into a ROLLBACK";
  return e;
}

result<> sqlite_session::run_one(std::string_view sql) {
  auto done = run_statement(db_, statements_, {sql, {}});
  if (!done) return std::unexpected(wait_.explain(std::move(done).error()));
  return {};
}

result<> sqlite_session::run_all(std::span<statement const> all, std::vector<rows>& out) {
  for (auto const& one : all) {
    if (auto may = may_run(); !may) return may;
    auto answered = run_statement(db_, statements_, one);
    if (!answered)
      return std::unexpected(
          stopped_by_guard(blocked_by_itself(wait_.explain(std::move(answered).error()))));
    out.push_back(std::move(*answered));
    if (begun_ && !in_transaction())
      return refuse(errc::transaction_replaced, "the statement ended the transaction");
  }
  return {};
}

result<std::vector<rows>> sqlite_session::execute(std::span<statement const> all,
                                                  call_limits const& limits) {
  lock_wait::call const call(wait_, limits, lock_wait::call::interrupt::allowed);
  std::vector<rows> out;
  out.reserve(all.size());
  if (auto ran = run_all(all, out); !ran) return std::unexpected(std::move(ran).error());
  return out;
}

result<> sqlite_session::commit(std::span<statement const> last, call_limits const& limits) {
  lock_wait::call const call(wait_, limits, lock_wait::call::interrupt::never);
  auto const fail = [](error e, certainty known) {
    e.phase = phase::commit;
    e.certainty = known;
    return std::unexpected(std::move(e));
  };
  std::vector<rows> ignored;
  look_for_guard();
  auto ready = run_all(last, ignored);
  if (ready) ready = may_run();
  if (ready && !in_transaction()) ready = refuse(errc::transaction_not_open, "nothing to commit");
  int const files = written_databases();
  if (!ready) {
    // Without the guard, what ended the transaction may have been a COMMIT.
    bool const unknown = ready.error().what == errc::transaction_replaced && !guards_commit();
    return fail(std::move(ready).error(), unknown ? certainty::in_doubt : certainty::rolled_back);
  }
  guard_.ours = true;
  auto committed = run_statement(db_, statements_, {commit_sql, {}});
  guard_.ours = false;
  if (committed) {
    end();
    return {};
  }
  error e = refused_commit(wait_.explain(std::move(committed).error()), files > 1);
  return fail(e, e.certainty);
}

// With WAL each file is committed by itself, and so may be lost by itself; a database in memory
// likewise. https://sqlite.org/lang_attach.html Temporary tables are nobody else's.
int sqlite_session::written_databases() const noexcept {
  constexpr int temporary = 1;
  int written = 0;
  for (int i = 0; sqlite3_db_name(db_, i) != nullptr; ++i)
    if (i != temporary && sqlite3_txn_state(db_, sqlite3_db_name(db_, i)) == SQLITE_TXN_WRITE)
      ++written;
  return written;
}

// A COMMIT that failed and left the transaction open has committed nothing: BUSY (readers of a
// rollback journal), a deferred foreign key, an interrupt. https://sqlite.org/lang_transaction.html
//
// Where SQLite rolled back by itself, the error may have come *after* the moment that makes a
// commit: the journal is deleted and its folder cannot be synced (atomiccommit.html, 3.11), or
// the commit frame is in the WAL and cannot be synced or indexed (walformat.html, 4.3); the next
// one who reads the file may then find the transaction committed. A full disk stops the writing
// before that moment, and a hook is asked before it.
error sqlite_session::refused_commit(error e, bool several_files) const {
  e.certainty = certainty::rolled_back;
  if (in_transaction()) return blocked_by_itself(std::move(e));
  int const code = primary(e.native.code);
  if (code == SQLITE_CONSTRAINT || (code == SQLITE_FULL && !several_files)) return e;
  e.what = errc::commit_in_doubt;
  e.certainty = certainty::in_doubt;
  e.advice = advice::resolve_first;
  e.message += " to COMMIT: the transaction may be in the file";
  return e;
}

// The hook that was there is told when another is set. One that is not ours was set by the
// effect, and what it let through is not known. https://sqlite.org/c3ref/commit_hook.html
void sqlite_session::look_for_guard() const noexcept {
  if (!guard_.armed) return;
  if (sqlite3_commit_hook(db_, &commit_guard::on_commit, &guard_) != &guard_) guard_lost_ = true;
}

result<> sqlite_session::rollback() noexcept try {
  look_for_guard();
  if (in_transaction()) {
    guard_.ours = true;
    int const rc = sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    guard_.ours = false;
    if (in_transaction()) {
      error e = rc == SQLITE_OK ? error{} : last_error(db_);
      e.advice = advice::new_connection;
      return std::unexpected(std::move(e));
    }
  }
  end();
  return {};
} catch (...) {
  return std::unexpected(error{});
}

result<> sqlite_session::reset() noexcept try {
  if (auto ended = rollback(); !ended) return ended;
  if (query_only_) return refuse(errc::resource_exhausted, "the handle is left read-only");
  if (has_busy_statement(false))
    return refuse(errc::session_not_idle, "a statement was left running on the handle");
  if (!owned_) return {};
  static call_limits const none;
  lock_wait::call const call(wait_, none, lock_wait::call::interrupt::never);
  if (auto restored = settings_.restore(db_); !restored) return restored;
  // With an exclusive lock the session would keep everybody else out: it is closed instead.
  auto const mode = run_statement(db_, statements_, {"PRAGMA main.locking_mode", {}});
  if (!mode) return std::unexpected(mode.error());
  if (!mode->empty() && as_text((*mode)[0][0]) != "normal")
    return refuse(errc::resource_exhausted, "the handle is left with an exclusive lock");
  return {};
} catch (...) {
  return std::unexpected(error{});
}

std::optional<error> sqlite_session::pending_error() noexcept try {
  int const code = sqlite3_extended_errcode(db_);
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return std::nullopt;
  return stopped_by_guard(last_error(db_));
} catch (...) {
  return std::nullopt;
}

}  // namespace idem::inline v1::sqlite::detail
