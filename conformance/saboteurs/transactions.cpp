// SPDX-License-Identifier: BSL-1.0
// Stores that do not know the state of their transaction: S7, S8, S17, S25, S26.
#include <utility>

#include "conformance/saboteurs/makers.h"
#include "conformance/saboteurs/protocol_session.h"

namespace idem::inline v1::conformance {

namespace {

// Tells between begin and commit or rollback that the transaction is open, whatever the server
// says, and leaves errors of the effect's statements to the effect.
class trusting_session : public protocol_session {
 public:
  using protocol_session::protocol_session;

  result<> begin(begin_options const& o) override {
    options_ = o;
    auto begun = protocol_session::begin(o);
    begun_ = begun.has_value();
    return begun;
  }
  result<> commit(std::span<statement const> last, call_limits const& l) override {
    auto committed = protocol_session::commit(last, l);
    if (committed) begun_ = false;
    return committed;
  }
  result<> rollback() noexcept override {
    begun_ = false;
    return protocol_session::rollback();
  }
  result<> reset() noexcept override {
    begun_ = false;
    return protocol_session::reset();
  }
  result<transaction_status> status() override {
    if (begun_) return transaction_status::open;
    return protocol_session::status();
  }
  std::optional<error> pending_error() noexcept override { return std::nullopt; }

 protected:
  bool begun() const noexcept { return begun_; }
  begin_options const& options() const noexcept { return options_; }

  bool transaction_is_gone() {
    auto status = protocol_session::status();
    return begun_ && status && *status != transaction_status::open;
  }
  std::unexpected<error> left_to_the_effect(error e) const {
    if (begun_) e.advice = advice::never;
    return std::unexpected(std::move(e));
  }

 private:
  begin_options options_;
  bool begun_ = false;
};

// Once the transaction is lost, what follows seems to succeed and COMMIT too: it is the server's
// answer ROLLBACK, not read. Its claim is a plain insert, and where that meets a taken key the
// transaction is lost as well, as on PostgreSQL: it reads the winner and goes on.
class deaf_session final : public trusting_session {
 public:
  using trusting_session::trusting_session;

  result<> begin(begin_options const& o) override {
    lost_ = false;
    return trusting_session::begin(o);
  }

 private:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (lost_ && is_savepoint(kind)) return rows{};
    auto answered = pass(s, l);
    bool const taken = kind == statement_kind::claim && begun() && is_conflict(answered);
    if (taken || (!answered && transaction_is_gone()))
      if (auto going = lose(); !going) return std::unexpected(std::move(going).error());
    if (lost_ && kind == statement_kind::save) return one_row();
    if (answered || taken) return answered;
    return left_to_the_effect(std::move(answered).error());
  }
  // Nothing of what follows will stay.
  result<> lose() {
    lost_ = true;
    if (auto ended = real().rollback(); !ended) return ended;
    return real().begin(options());
  }
  static bool is_conflict(result<rows> const& claimed) {
    return claimed ? claimed->affected != 1 : claimed.error().what == errc::unique_violation;
  }
  result<> finish(call_limits const& l) override {
    if (!lost_) return trusting_session::finish(l);
    return real().rollback();
  }

  bool lost_ = false;
};

// Tries a statement again, and it alone, in a new transaction if the old one is lost.
class retrying_session final : public trusting_session {
 public:
  using trusting_session::trusting_session;

 private:
  static constexpr int max_tries = 2;

  result<rows> one(statement_kind, statement const& s, call_limits const& l) override {
    auto answered = pass(s, l);
    for (int i = 1; i < max_tries && !answered && is_transient(answered.error()); ++i) {
      if (auto begun = begin_if_gone(); !begun) return std::unexpected(std::move(begun).error());
      answered = pass(s, l);
    }
    if (answered) return answered;
    return left_to_the_effect(std::move(answered).error());
  }
  // COMMIT is a statement too.
  result<> finish(call_limits const& l) override {
    auto committed = trusting_session::finish(l);
    if (committed || !is_transient(committed.error())) return committed;
    if (auto begun = begin_if_gone(); !begun) return begun;
    return trusting_session::finish(l);
  }
  result<> begin_if_gone() {
    if (!transaction_is_gone()) return {};
    if (auto ended = real().rollback(); !ended) return ended;
    return real().begin(options());
  }
};

// Begins and commits nothing: every statement is a transaction of its own. There are no
// savepoints then.
class autocommit_session final : public protocol_session {
 public:
  using protocol_session::protocol_session;

  result<> begin(begin_options const&) override {
    begun_ = true;
    return {};
  }
  result<> rollback() noexcept override {
    begun_ = false;
    return {};
  }
  result<> reset() noexcept override {
    begun_ = false;
    return protocol_session::reset();
  }
  result<transaction_status> status() override {
    if (begun_) return transaction_status::open;
    return protocol_session::status();
  }
  bool guards_commit() const noexcept override { return false; }

 private:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (is_savepoint(kind)) return rows{};
    return pass(s, l);
  }
  result<> finish(call_limits const&) override {
    begun_ = false;
    return {};
  }

  bool begun_ = false;
};

// Works in whatever transaction there is, as a connection without autocommit does, and counts
// no rows when it saves.
class unproven_session final : public trusting_session {
 public:
  using trusting_session::trusting_session;

 private:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (kind == statement_kind::release_savepoint) {
      auto ignored = in_any_transaction(s, l);
      return rows{};
    }
    if (kind != statement_kind::save) return in_any_transaction(s, l);
    if (auto saved = save_if_possible(s, l); !saved) return saved;
    return one_row();
  }
  result<rows> in_any_transaction(statement const& s, call_limits const& l) {
    auto answered = pass(s, l);
    if (answered || answered.error().what != errc::transaction_replaced) return answered;
    if (auto ended = real().rollback(); !ended) return std::unexpected(std::move(ended).error());
    if (auto begun = real().begin(options()); !begun)
      return std::unexpected(std::move(begun).error());
    return pass(s, l);
  }
  // A save that the server refuses for its count of rows is put aside.
  result<rows> save_if_possible(statement const& s, call_limits const& l) {
    if (!sql().facts.save_fails_in_server) return in_any_transaction(s, l);
    auto marked = in_any_transaction({texts().savepoint(), {}}, l);
    if (!marked) return marked;
    if (auto saved = pass(s, l)) return saved;
    return pass(statement{texts().rollback_to_savepoint(), {}}, l);
  }
};

// When the server has rolled back, the statements that follow commit one by one.
class autocommit_after_rollback_session final : public trusting_session {
 public:
  using trusting_session::trusting_session;

  result<> begin(begin_options const& o) override {
    alone_ = false;
    return trusting_session::begin(o);
  }
  bool guards_commit() const noexcept override { return false; }

 private:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (alone_ && is_savepoint(kind)) return rows{};
    if (alone_) return pass(s, l);
    auto answered = pass(s, l);
    if (answered) return answered;
    alone_ = transaction_is_gone();
    if (alone_)
      if (auto ended = real().rollback(); !ended) return std::unexpected(std::move(ended).error());
    return left_to_the_effect(std::move(answered).error());
  }
  result<> finish(call_limits const& l) override {
    if (alone_) return {};
    return trusting_session::finish(l);
  }

  bool alone_ = false;
};

}  // namespace

std::unique_ptr<contract> deaf_to_abort(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<deaf_session>>(std::move(real), s);
}
std::unique_ptr<contract> statement_retrier(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<retrying_session>>(std::move(real), s);
}
std::unique_ptr<contract> autocommitting(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<autocommit_session>>(std::move(real), s);
}
std::unique_ptr<contract> unproven_save(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<unproven_session>>(std::move(real), s);
}
std::unique_ptr<contract> on_in_autocommit(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<autocommit_after_rollback_session>>(std::move(real), s);
}

}  // namespace idem::inline v1::conformance
