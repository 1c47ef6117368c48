// SPDX-License-Identifier: BSL-1.0
// Stores whose record and effect are not one: S1, S2, S3, S19.
#include <algorithm>
#include <chrono>
#include <list>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <idem/transaction.h>

#include "conformance/saboteurs/makers.h"
#include "conformance/saboteurs/protocol_session.h"

namespace idem::inline v1::conformance {

namespace {

// Looks the key up, on a connection of its own and before the transaction has begun, and writes
// the record when the effect is done; that somebody else has written one by then is not noticed.
class unkeyed_session : public protocol_session {
 public:
  unkeyed_session(std::unique_ptr<session> real, subject& s)
      : protocol_session(std::move(real), s) {
    if (auto opened = s.connect()) reader_ = std::move(*opened);
  }

  // Held back, as the port allows.
  result<> begin(begin_options const& o) override {
    claims_.clear();
    options_ = o;
    held_back_ = true;
    return {};
  }
  result<transaction_status> status() override {
    if (held_back_) return transaction_status::open;
    return protocol_session::status();
  }
  result<> rollback() noexcept override {
    held_back_ = false;
    return protocol_session::rollback();
  }
  result<> reset() noexcept override {
    held_back_ = false;
    return protocol_session::reset();
  }

 protected:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (kind == statement_kind::claim) return look(s, l);
    if (auto begun = now_begin(); !begun) return std::unexpected(std::move(begun).error());
    if (kind == statement_kind::save) return write_record(s, l);
    return pass(s, l);
  }
  result<> finish(call_limits const& l) override {
    if (auto begun = now_begin(); !begun) return begun;
    return protocol_session::finish(l);
  }

  result<> now_begin() {
    if (!std::exchange(held_back_, false)) return {};
    return real().begin(options_);
  }
  void hold_back() { held_back_ = true; }
  result<> end_held_back() {
    held_back_ = false;
    return {};
  }

  result<rows> write_record(statement const& save, call_limits const& l) {
    auto const key = identity_text(save, identity_in_save);
    auto const claim = std::ranges::find(claims_, key, &kept_claim::key);
    if (claim == claims_.end()) return pass(save, l);
    auto inserted = pass(claim->insert, l);
    claims_.erase(claim);
    bool const conflicts =
        inserted ? inserted->affected != 1 : inserted.error().what == errc::unique_violation;
    if (conflicts) return one_row();
    if (!inserted) return inserted;
    return pass(save, l);
  }

  // A look that would have to wait, or fails, has found nothing.
  virtual bool is_taken(statement const& claim, call_limits l) {
    l.wait_limit = std::chrono::milliseconds(0);
    statement const find{texts().find(), claim.parameters.first(3)};
    auto found = (reader_ ? *reader_ : real()).execute(std::span(&find, 1), l);
    return found && !found->front().empty();
  }

 private:
  struct kept_claim {
    std::string key;
    kept_statement insert;
  };

  result<rows> look(statement const& claim, call_limits const& l) {
    bool const taken = is_taken(claim, l);
    if (!taken) std::this_thread::sleep_for(busy_server);
    if (auto begun = now_begin(); !begun) return std::unexpected(std::move(begun).error());
    if (taken) return conflict();
    claims_.push_back({identity_text(claim, identity_in_claim), kept_statement(claim)});
    return one_row();
  }
  /// What a loaded server makes of the time between the look and the write.
  static constexpr std::chrono::milliseconds busy_server{3};

  std::unique_ptr<session> reader_;
  begin_options options_;
  bool held_back_ = false;
  std::list<kept_claim> claims_;
};

// What it looks up is there when it is asked for the second time.
class lagging_session final : public unkeyed_session {
 public:
  using unkeyed_session::unkeyed_session;

 private:
  bool is_taken(statement const& claim, call_limits l) override {
    bool const has_arrived = !asked_for_.insert(identity_text(claim, identity_in_claim)).second;
    return has_arrived && unkeyed_session::is_taken(claim, l);
  }

  std::set<std::string> asked_for_;
};

// Commits the claim at once; the effect and the response have another transaction, which begins
// with the first statement of the effect.
class record_first_session final : public protocol_session {
 public:
  using protocol_session::protocol_session;

  result<> begin(begin_options const& o) override {
    options_ = o;
    return protocol_session::begin(o);
  }
  result<transaction_status> status() override {
    if (between_) return transaction_status::open;
    return protocol_session::status();
  }
  result<> rollback() noexcept override {
    between_ = false;
    return protocol_session::rollback();
  }
  result<> reset() noexcept override {
    between_ = false;
    return protocol_session::reset();
  }

 private:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (kind == statement_kind::savepoint && between_) return rows{};
    if (auto begun = begin_again(l); !begun) return std::unexpected(std::move(begun).error());
    auto answered = pass(s, l);
    if (kind != statement_kind::claim || !answered || answered->affected != 1) return answered;
    if (auto early = real().commit({}, l); !early) return std::unexpected(std::move(early).error());
    between_ = true;
    return answered;
  }
  result<> finish(call_limits const& l) override {
    if (auto begun = begin_again(l); !begun) return begun;
    return protocol_session::finish(l);
  }
  result<> begin_again(call_limits const& l) {
    if (!std::exchange(between_, false)) return {};
    if (auto begun = real().begin(options_); !begun) return begun;
    if (texts().savepoint().empty()) return {};
    auto marked = pass(statement{texts().savepoint(), {}}, l);
    if (!marked) return std::unexpected(std::move(marked).error());
    return {};
  }

  begin_options options_;
  bool between_ = false;
};

// The effect is committed first. Its record is written in a second transaction: after the
// caller's commit, or, where `run` owns the transaction, when the operation is over.
class record_later_session final : public unkeyed_session {
 public:
  using unkeyed_session::unkeyed_session;

  result<> begin(begin_options const& o) override {
    if (auto written = write_records({}); !written) return written;
    effect_committed_ = false;
    return unkeyed_session::begin(o);
  }
  result<> rollback() noexcept override {
    saves_.clear();
    return unkeyed_session::rollback();
  }
  result<> reset() noexcept override try {
    if (auto written = write_records({}); !written) return written;
    return unkeyed_session::reset();
  } catch (...) {
    return std::unexpected(error{});
  }

  result<> commit_effect() {
    if (auto begun = now_begin(); !begun) return begun;
    if (auto committed = real().commit({}, {}); !committed) return committed;
    effect_committed_ = true;
    hold_back();
    return {};
  }

  result<> write_records(call_limits const& l) {
    if (saves_.empty()) return {};
    auto written = write_all(std::exchange(saves_, {}), l);
    if (written) return written;
    if (auto ended = real().rollback(); !ended) return ended;
    return written;
  }

 private:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (is_savepoint(kind) && effect_committed_) return rows{};
    if (kind != statement_kind::save) return unkeyed_session::one(kind, s, l);
    saves_.emplace_back(s);
    return one_row();
  }
  result<> finish(call_limits const& l) override {
    if (effect_committed_) return end_held_back();
    if (auto committed = commit_effect(); !committed) return committed;
    if (auto ended = end_held_back(); !ended) return ended;
    return write_records(l);
  }

  result<> write_all(std::list<kept_statement> const& saves, call_limits const& l) {
    hold_back();
    if (auto begun = now_begin(); !begun) return begun;
    for (auto const& save : saves) {
      auto const parameters = save.parameters();
      auto written = write_record({save.sql(), parameters}, l);
      if (!written) return std::unexpected(std::move(written).error());
    }
    return real().commit({}, l);
  }

  std::list<kept_statement> saves_;
  bool effect_committed_ = false;
};

// Knows which session a run has: an effect sees it through a wrapper only.
class watched_source final : public session_source {
 public:
  explicit watched_source(session_source& real) : real_(real) {}

  result<session*> acquire(call_limits const& l) override {
    auto acquired = real_.acquire(l);
    if (acquired) current_ = dynamic_cast<record_later_session*>(*acquired);
    return acquired;
  }
  void release(session* s, bool reusable) noexcept override { real_.release(s, reusable); }
  record_later_session* current() const noexcept { return current_; }

 private:
  session_source& real_;
  record_later_session* current_ = nullptr;
};

class record_later_contract final : public on_sessions<record_later_session> {
 public:
  using on_sessions::on_sessions;

  result<outcome> run(session_source& source, request const& r, effect_function const& f,
                      run_options const& o) override {
    watched_source watched(source);
    auto const in_its_own_transaction = [&](transaction& tx) -> result<answer> {
      auto answered = f(tx);
      if (!answered || std::holds_alternative<refusal>(*answered) || watched.current() == nullptr)
        return answered;
      if (auto committed = watched.current()->commit_effect(); !committed)
        return std::unexpected(std::move(committed).error());
      return answered;
    };
    auto answered = on_sessions::run(watched, r, in_its_own_transaction, o);
    auto lease = session_lease::acquire(watched, {});
    if (!lease || watched.current() == nullptr) return answered;
    if (auto written = watched.current()->write_records({}); !written)
      return std::unexpected(std::move(written).error());
    return answered;
  }
};

}  // namespace

std::unique_ptr<contract> unkeyed(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<unkeyed_session>>(std::move(real), s);
}
std::unique_ptr<contract> lagging_lookup(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<lagging_session>>(std::move(real), s);
}
std::unique_ptr<contract> record_first(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<record_first_session>>(std::move(real), s);
}
std::unique_ptr<contract> record_later(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<record_later_contract>(std::move(real), s);
}

}  // namespace idem::inline v1::conformance
