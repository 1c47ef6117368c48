// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/held.h"

#include <utility>

#include <idem/conformance/suite.h>

namespace idem::inline v1::conformance {

namespace {

constexpr std::chrono::seconds longest_hold{30};

}  // namespace

background::background(std::function<call()> f)
    : future_(std::async(std::launch::async, std::move(f))) {}

bool background::done() const {
  return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

bool background::await_blocked(context& c, session& s) const {
  bool blocked = false;
  c.await([&] {
    blocked = c.engine().waiting(s);
    return blocked || done();
  });
  return blocked;
}

bool background::await_done(context& c, std::chrono::milliseconds limit) const {
  return c.await([this] { return done(); }, limit);
}

held_operation::held_operation(context& c, session& s, operation const& op, at where,
                               run_options const& options)
    : context_(c), op_(op), at_(where) {
  call_ = std::make_unique<background>([this, &s, options] {
    return context_.run(s, op_, [this](transaction& tx) { return effect(tx); }, options);
  });
}

held_operation::~held_operation() { let_go(false); }

// A restarted effect finds itself let go and passes.
result<answer> held_operation::effect(transaction& tx) {
  auto& engine = context_.engine();
  auto const before = engine.transaction_id(tx.session());
  result<std::string> nonce = "";
  if (at_ == at::after_write) nonce = context_.write_effect(tx, op_);
  if (!nonce) return std::unexpected(std::move(nonce).error());
  bool const answers = hold();
  auto const after = engine.transaction_id(tx.session());
  was_open_ = before && after && !before->empty() && *before == *after;
  if (at_ == at::before_write) nonce = context_.write_effect(tx, op_);
  if (!nonce) return std::unexpected(std::move(nonce).error());
  if (!answers) return declined();
  return answer(context_.response_with(std::move(*nonce)));
}

bool held_operation::hold() {
  std::unique_lock lock(mutex_);
  held_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, longest_hold, [this] { return let_go_; });
  return answers_;
}

bool held_operation::await_held() {
  auto const held = [this] {
    std::scoped_lock const lock(mutex_);
    return held_;
  };
  context_.await([&] { return held() || call_->done(); });
  return held();
}

void held_operation::let_go(bool answers) {
  std::scoped_lock const lock(mutex_);
  if (let_go_) return;
  let_go_ = true;
  answers_ = answers;
  changed_.notify_all();
}

call held_operation::finish(bool answers) {
  let_go(answers);
  return call_->get();
}

std::unexpected<error> declined() {
  error e;
  e.what = errc::statement_failed;
  e.phase = phase::effect;
  e.message = "the effect declines";
  return std::unexpected(std::move(e));
}

std::unique_ptr<contract> watched_contract(context& c, idem::observer& o) {
  store_options options;
  options.schema = c.engine().names().schema;
  options.prefix = c.engine().names().prefix;
  options.observer = &o;
  auto real = make_contract(c.must(store::open(c.observer(), options), "a second store opens"));
  auto const* saboteur = find_saboteur(c.saboteur());
  return saboteur == nullptr ? std::move(real) : saboteur->make(std::move(real), c.engine());
}

call run_on(context& c, contract& idem, session& s, operation const& op,
            run_options const& options) {
  context other(c.engine(), idem, c.scope());
  call answered = other.run(s, op, c.standard_effect(op), options);
  auto const& told = other.history().back();
  c.note(op, told.what, told.body);
  return answered;
}

}  // namespace idem::inline v1::conformance
