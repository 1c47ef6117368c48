// SPDX-License-Identifier: BSL-1.0
#include "dialects/memory/session.h"

#include <utility>

#include "dialects/memory/statements.h"

namespace idem::inline v1::memory::detail {

namespace {

result<> check_patience(call_limits const& limits) {
  if (limits.stop.stop_requested()) return refuse(errc::cancelled, "stopped by the caller");
  if (std::chrono::steady_clock::now() >= limits.deadline)
    return refuse(errc::deadline_exceeded, "the deadline has passed");
  return {};
}

std::unexpected<error> in_commit(std::unexpected<error> e, certainty known) {
  e.error().phase = phase::commit;
  e.error().certainty = known;
  return e;
}

}  // namespace

memory_session::memory_session(std::shared_ptr<engine> db) : db_(std::move(db)) {
  held const lock(db_->mutex);
  id_ = db_->next_session_id();
  start_ = db_->start();
}

memory_session::~memory_session() {
  held const lock(db_->mutex);
  close();
}

void memory_session::open(bool read_only) {
  db_->begin(transaction_.emplace());
  transaction_->read_only = read_only;
}

void memory_session::close() {
  if (!transaction_) return;
  db_->end(*transaction_);
  transaction_.reset();
}

result<transaction_status> memory_session::status() {
  held const lock(db_->mutex);
  if (lost()) return transaction_status::unknown;
  if (!transaction_) return transaction_status::idle;
  return transaction_->failed ? transaction_status::failed : transaction_status::open;
}

result<> memory_session::begin(begin_options const& options) {
  held const lock(db_->mutex);
  if (auto patient = check_patience(options.limits); !patient) return patient;
  if (lost()) return fail(code::connection_lost);
  if (transaction_) return fail(code::transaction_open);
  if (options.isolation > isolation::read_committed) return fail(code::isolation_unknown);
  last_error_.reset();
  open(options.read_only);
  ours_ = true;
  return {};
}

result<> memory_session::commit(std::span<statement const> last, call_limits const& limits) {
  held lock(db_->mutex);
  if (auto patient = check_patience(limits); !patient)
    return in_commit(std::unexpected(std::move(patient).error()), certainty::rolled_back);
  if (lost()) return in_commit(fail(code::connection_lost), certainty::rolled_back);
  if (!transaction_ && ours_) {
    ours_ = false;
    return in_commit(refuse(errc::transaction_replaced, "the transaction was ended before"),
                     certainty::rolled_back);
  }
  if (auto sent = run_all(lock, last, limits); !sent)
    return in_commit(std::unexpected(std::move(sent).error()), certainty::rolled_back);
  ours_ = false;
  return end_with_commit();
}

result<> memory_session::end_with_commit() {
  if (!transaction_) return in_commit(fail(code::no_transaction), certainty::rolled_back);
  auto const fault = std::exchange(next_commit_, std::nullopt);
  if (fault == commit_fault::lost_before) return lose_connection(false);
  if (fault == commit_fault::lost_after) return lose_connection(true);
  bool const failed = transaction_->failed;
  bool const commits = !failed && !fault;
  if (commits) db_->apply(*transaction_);
  close();
  if (commits) return {};
  auto const why = failed                                         ? code::transaction_failed
                   : fault == commit_fault::serialization_failure ? code::commit_conflict
                                                                  : code::commit_constraint;
  return in_commit(fail(why), certainty::rolled_back);
}

// Whoever sent COMMIT cannot tell the two ends apart.
result<> memory_session::lose_connection(bool committed) {
  if (committed && !transaction_->failed) db_->apply(*transaction_);
  close();
  lost_ = true;
  return in_commit(fail(code::connection_lost), certainty::in_doubt);
}

result<> memory_session::rollback() noexcept {
  held const lock(db_->mutex);
  ours_ = false;
  close();
  if (lost()) return fail(code::connection_lost);
  return {};
}

result<> memory_session::reset() noexcept {
  held const lock(db_->mutex);
  ours_ = false;
  close();
  last_error_.reset();
  next_commit_.reset();
  wait_limit_ = default_wait_limit;
  if (lost()) return fail(code::connection_lost);
  return {};
}

std::optional<error> memory_session::pending_error() noexcept {
  held const lock(db_->mutex);
  return last_error_;
}

result<std::vector<rows>> memory_session::execute(std::span<statement const> all,
                                                  call_limits const& limits) {
  held lock(db_->mutex);
  return run_all(lock, all, limits);
}

// What ended a transaction stays its last error: the refusals that follow explain nothing.
result<std::vector<rows>> memory_session::run_all(held& lock, std::span<statement const> all,
                                                  call_limits const& limits) {
  std::vector<rows> answers;
  for (auto const& one : all) {
    bool const had_failed = transaction_ && transaction_->failed;
    auto answered = run_one(lock, one, limits);
    if (!had_failed) last_error_.reset();
    if (!answered) {
      if (!had_failed) last_error_ = answered.error();
      return std::unexpected(std::move(answered).error());
    }
    answers.push_back(std::move(*answered));
  }
  return answers;
}

result<rows> memory_session::run_one(held& lock, statement const& one, call_limits const& limits) {
  if (auto patient = check_patience(limits); !patient)
    return std::unexpected(std::move(patient).error());
  if (lost()) return fail(code::connection_lost);
  if (auto controlled = control(trimmed(one.sql))) {
    if (!*controlled) return std::unexpected(std::move(*controlled).error());
    return rows{};
  }
  patience const patient{limits, limits.wait_limit.value_or(wait_limit_)};
  if (!transaction_ && ours_)
    return refuse(errc::transaction_replaced,
                  "the transaction was ended by an effect: the statement would commit by itself");
  if (!transaction_) return run_alone(lock, one, patient);
  if (transaction_->failed) return fail(code::transaction_failed);
  return run_statement({*db_, *transaction_, lock, patient}, one);
}

// Outside a transaction each statement is one.
result<rows> memory_session::run_alone(held& lock, statement const& one, patience const& patient) {
  open(false);
  auto answered = run_statement({*db_, *transaction_, lock, patient}, one);
  if (answered) db_->apply(*transaction_);
  close();
  return answered;
}

// The texts with which an effect, or a caller of its own, begins and ends transactions.
// Nothing for any other text.
std::optional<result<>> memory_session::control(std::string_view text) {
  if (text == "BEGIN") {
    if (transaction_) return fail(code::transaction_open);
    open(false);
    return result<>();
  }
  if (text == "COMMIT") return end_with_commit();
  if (text == "COMMIT AND CHAIN") {
    auto committed = end_with_commit();
    if (committed) open(false);
    return committed;
  }
  if (text != "ROLLBACK") return std::nullopt;
  close();
  return result<>();
}

bool memory_session::waiting() noexcept {
  held const lock(db_->mutex);
  return transaction_ && transaction_->waits_for;
}

std::uint64_t memory_session::transaction_serial() noexcept {
  held const lock(db_->mutex);
  return transaction_ && !lost() ? transaction_->serial : 0;
}

void memory_session::set_wait_limit(std::chrono::milliseconds limit) {
  held const lock(db_->mutex);
  wait_limit_ = limit;
}

std::chrono::milliseconds memory_session::wait_limit() noexcept {
  held const lock(db_->mutex);
  return wait_limit_;
}

void memory_session::disconnect() {
  held const lock(db_->mutex);
  close();
  lost_ = true;
}

void memory_session::fail_next_commit(commit_fault fault) {
  held const lock(db_->mutex);
  next_commit_ = fault;
}

}  // namespace idem::inline v1::memory::detail
