// SPDX-License-Identifier: BSL-1.0
#include "tests/support/scripted_session.h"

#include <algorithm>

#include "tests/support/scripted_engine.h"

namespace idem_test {

namespace {

using idem::certainty;
using idem::error;
using idem::rows;
using idem::statement;
using idem::transaction_status;

std::unexpected<error> fail(native code) { return std::unexpected(engine_error(code)); }

std::unexpected<error> fail(native code, certainty known) {
  auto e = engine_error(code);
  e.certainty = known;
  return std::unexpected(std::move(e));
}

}  // namespace

scripted_session::scripted_session(scripted_world& w) : world_(&w) {}

scripted_session::~scripted_session() {
  if (connected_ && transaction_) world_->server.rollback(*transaction_);
}

bool scripted_session::has_open_transaction() const {
  return connected_ && transaction_ && world_->server.is_open(*transaction_);
}

idem::result<transaction_status> scripted_session::status() {
  if (auto struck = world_->step(port_call::status); struck && connected_) {
    if (struck->kind == fault_kind::status_unknown) return transaction_status::unknown;
    drop_connection(struck->kind);
    return fail(native::lost);
  }
  if (!connected_) return transaction_status::unknown;
  if (!has_open_transaction()) return transaction_status::idle;
  return failed_ ? transaction_status::failed : transaction_status::open;
}

// What the server does with the transaction of a connection that ended.
void scripted_session::drop_connection(fault_kind how) {
  connected_ = false;
  if (!transaction_) return;
  if (how == fault_kind::lost_lingering)
    world_->server.linger(*transaction_, waited_for::dies);
  else if (how == fault_kind::lost_stuck)
    world_->server.linger(*transaction_, waited_for::holds);
  else
    world_->server.rollback(*transaction_);
}

void scripted_session::fail_transaction() {
  if (has_open_transaction() && world_->server.kind().facts.failed_statement_aborts_transaction)
    failed_ = true;
}

// A fault that comes from the server, as an error of one statement.
error scripted_session::fail_as(fault_kind kind) {
  switch (kind) {
    case fault_kind::serialization:
      failed_ = has_open_transaction();
      return engine_error(native::serialization);
    case fault_kind::deadlock:
      if (transaction_) world_->server.rollback(*transaction_);
      return engine_error(native::deadlock);
    case fault_kind::lock_timeout:
      fail_transaction();
      return engine_error(native::lock_timeout);
    case fault_kind::out_of_time:
      fail_transaction();
      return engine_error(native::out_of_time);
    default:
      fail_transaction();
      return engine_error(native::failed);
  }
}

idem::result<> scripted_session::begin(idem::begin_options const&) {
  auto const struck = world_->step(port_call::begin);
  if (!connected_) return fail(native::lost);
  if (has_open_transaction()) return fail(native::failed);
  if (struck && applies(*struck, port_call::save_commit))
    return std::unexpected(fail_as(struck->kind));
  if (!struck || struck->kind != fault_kind::lost_before) {
    transaction_ = world_->server.begin();
    if (!transaction_) return fail(native::lock_timeout);
  }
  if (struck) {
    drop_connection(struck->kind);
    return fail(native::lost);
  }
  begun_by_port_ = true;
  failed_ = false;
  return {};
}

std::optional<error> scripted_session::refuse_statement(std::string_view sql) {
  if (!connected_) return engine_error(native::lost);
  if (failed_ && !sql.starts_with("ROLLBACK TO")) return engine_error(native::aborted);
  if (begun_by_port_ && !has_open_transaction()) return engine_error(native::replaced);
  if (transaction_ && world_->server.was_killed(*transaction_)) {
    world_->server.rollback(*transaction_);
    return engine_error(native::deadlock);
  }
  return std::nullopt;
}

idem::result<std::vector<rows>> scripted_session::run_all(std::span<statement const> all) {
  std::vector<rows> answers;
  for (auto const& one : all) {
    if (auto refused = refuse_statement(one.sql)) return std::unexpected(std::move(*refused));
    auto answered = run(one);
    if (!answered) return std::unexpected(std::move(answered).error());
    answers.push_back(std::move(*answered));
  }
  return answers;
}

idem::result<std::vector<rows>> scripted_session::struck(fault const& f,
                                                         std::span<statement const> all) {
  switch (f.kind) {
    case fault_kind::lost_after:
    case fault_kind::lost_lingering:
    case fault_kind::lost_stuck:
      (void)run_all(all);
      [[fallthrough]];
    case fault_kind::lost_before:
      drop_connection(f.kind);
      return fail(native::lost);
    case fault_kind::statement_error:
      if (all.front().sql.starts_with("R") && !all.front().sql.starts_with("READ"))
        world_->witness_struck = true;  // ROLLBACK TO or RELEASE
      [[fallthrough]];
    default:
      return std::unexpected(fail_as(f.kind));
  }
}

idem::result<std::vector<rows>> scripted_session::execute(std::span<statement const> all,
                                                          idem::call_limits const&) {
  auto const fault = world_->step(port_call::execute);
  if (auto refused = refuse_statement(all.front().sql)) return std::unexpected(std::move(*refused));
  return fault ? struck(*fault, all) : run_all(all);
}

idem::result<> scripted_session::commit(std::span<statement const> last, idem::call_limits const&) {
  auto const fault = world_->step(last.empty() ? port_call::commit : port_call::save_commit);
  bool const before_commit = fault && applies(*fault, port_call::execute);
  auto saved = before_commit ? std::unexpected(fail_as(fault->kind)) : run_all(last);
  if (!saved) {
    auto e = std::move(saved).error();
    e.phase = idem::phase::save;
    e.certainty = certainty::rolled_back;
    return std::unexpected(std::move(e));
  }
  if (auto refused = refuse_statement("COMMIT")) {
    refused->certainty = certainty::rolled_back;
    return std::unexpected(std::move(*refused));
  }
  return fault ? commit_struck(*fault) : send_commit();
}

idem::result<> scripted_session::send_commit() {
  if (!transaction_) return fail(native::failed, certainty::rolled_back);
  if (!world_->server.commit(*transaction_)) return fail(native::deadlock, certainty::rolled_back);
  transaction_.reset();
  begun_by_port_ = false;
  return {};
}

idem::result<> scripted_session::commit_struck(fault const& f) {
  auto& server = world_->server;
  auto const known = [&] {
    if (f.kind == fault_kind::commit_unsent) return certainty::rolled_back;
    world_->commit_doubtful = true;
    return certainty::in_doubt;
  };
  switch (f.kind) {
    case fault_kind::commit_refused:
      server.rollback(*transaction_);
      return fail(native::constraint, certainty::rolled_back);
    case fault_kind::commit_serialization:
      server.rollback(*transaction_);
      return fail(native::serialization, certainty::rolled_back);
    case fault_kind::commit_busy:
      return fail(native::lock_timeout, certainty::rolled_back);
    case fault_kind::commit_unanswered:
      server.commit(*transaction_);
      break;
    case fault_kind::commit_late: {
      auto const now = static_cast<int>(world_->trace.size());
      auto const when = f.late_by > 0 ? std::optional(now + f.late_by) : std::nullopt;
      server.commit_later(*transaction_, when, f.when_waited);
      break;
    }
    default:
      server.rollback(*transaction_);
  }
  connected_ = false;
  return fail(native::lost, known());
}

idem::result<> scripted_session::rollback() noexcept {
  auto const fault = world_->step(port_call::rollback);
  if (!connected_) return fail(native::lost);
  if (fault && fault->kind == fault_kind::rollback_fails) return fail(native::failed);
  if (fault) {
    drop_connection(fault->kind);
    return fail(native::lost);
  }
  if (transaction_) world_->server.rollback(*transaction_);
  transaction_.reset();
  begun_by_port_ = failed_ = false;
  return {};
}

idem::result<> scripted_session::reset() noexcept {
  auto const fault = world_->step(port_call::reset);
  if (!connected_) return fail(native::lost);
  if (fault) return fail(native::failed);
  if (transaction_) world_->server.rollback(*transaction_);
  transaction_.reset();
  begun_by_port_ = failed_ = false;
  pending_.reset();
  return {};
}

bool scripted_session::native_begin() {
  if (!connected_ || has_open_transaction()) return false;
  transaction_ = world_->server.begin();
  failed_ = false;
  return transaction_.has_value();
}

bool scripted_session::native_commit() {
  if (!has_open_transaction() || guards_commit()) return false;
  world_->replaced = world_->replaced || begun_by_port_;
  bool const committed = !failed_ && world_->server.commit(*transaction_);
  if (!committed) world_->server.rollback(*transaction_);
  transaction_.reset();
  return committed;
}

bool scripted_session::native_rollback() {
  if (!has_open_transaction()) return false;
  world_->replaced = world_->replaced || begun_by_port_;
  world_->server.rollback(*transaction_);
  transaction_.reset();
  failed_ = false;
  return true;
}

void scripted_session::native_release_savepoint() {
  if (has_open_transaction()) world_->server.release(*transaction_, "idem");
  world_->witness_struck = true;
}

void scripted_session::native_effect(std::string const& what) {
  if (!connected_ || (!has_open_transaction() && guards_commit()) || failed_) return;
  world_->server.write_effect(has_open_transaction() ? transaction_ : std::nullopt, what);
}

void scripted_session::native_failure(fault_kind kind) {
  if (connected_) pending_ = fail_as(kind);
}

}  // namespace idem_test
