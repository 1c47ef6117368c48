// SPDX-License-Identifier: BSL-1.0
// How a transaction ends, and what a session leaves behind.
#include <array>
#include <utility>

#include "dialects/postgresql/session_impl.h"

namespace idem::inline v1::postgresql::detail {

namespace {

constexpr std::string_view commit_sql = "COMMIT";
constexpr std::string_view rollback_sql = "ROLLBACK";

std::unexpected<error> refuse(errc what, std::string message) {
  return std::unexpected(refusal_of(what, std::move(message)));
}

error not_committed(errc what, std::string message) {
  error e = refusal_of(what, std::move(message));
  e.phase = phase::commit;
  e.certainty = certainty::rolled_back;
  return e;
}

}  // namespace

bool proves_undone(flush_answer const& answered, error const& e) noexcept {
  bool const told = answered.failed && !e.native.sqlstate.empty();
  // An effect's own statement may fail with 08: a foreign server that cannot be reached.
  bool const lost = !answered.servers && e.native.sqlstate.starts_with("08");
  return told && !answered.fatal && !lost && e.advice != advice::resolve_first;
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
  f.commands.push_back({commit_sql, {}, true, true});
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
  bool const undone = proves_undone(answered, e);
  e.certainty = undone ? certainty::rolled_back : certainty::in_doubt;
  if (answered.stale && undone) {
    if (auto* memory = connection_memory::of(conn_)) memory->forget_statements();
    e.advice = advice::new_transaction;
  }
  return std::unexpected(std::move(e));
}

// What an effect left unread on the handle: in its way a ROLLBACK would not be sent.
void postgresql_session::read_unread() {
  auto const until = soon().deadline;
  while (PQpipelineStatus(conn_) == PQ_PIPELINE_OFF &&
         PQtransactionStatus(conn_) == PQTRANS_ACTIVE) {
    if (PQisBusy(conn_) != 0) {
      bool const readable = wait_for_socket(conn_, false, true, until, {});
      if (!readable || PQconsumeInput(conn_) != 1) return;
      continue;
    }
    result_ptr const got(PQgetResult(conn_));
    auto const kind = PQresultStatus(got.get());
    if (kind == PGRES_COPY_IN || kind == PGRES_COPY_OUT || kind == PGRES_COPY_BOTH) return;
  }
}

result<> postgresql_session::send_rollback() {
  std::array<command, 1> const one{command{rollback_sql, {}, true, true}};
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
  read_unread();
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

}  // namespace idem::inline v1::postgresql::detail
