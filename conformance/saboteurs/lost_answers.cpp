// SPDX-License-Identifier: BSL-1.0
// Stores that do not find out what became of an attempt: S9, S10.
#include <string>
#include <utility>

#include "conformance/saboteurs/makers.h"

namespace idem::inline v1::conformance {

namespace {

// It does not know, or did not look: the connection went, or the end was refused.
bool is_lost(result<outcome> const& answered) {
  if (answered) return false;
  error const& e = answered.error();
  return e.certainty == certainty::in_doubt || e.what == errc::connection_lost ||
         (is_transient(e) && (e.phase == phase::commit || e.phase == phase::save));
}

// Lends one session. On a second one the store itself would find out what became of the first.
class first_session_only final : public session_source {
 public:
  explicit first_session_only(session_source& real) : real_(real) {}
  result<session*> acquire(call_limits const& limits) override {
    if (!std::exchange(used_, true)) return real_.acquire(limits);
    error e;
    e.what = errc::connection_lost;
    e.phase = phase::connect;
    e.message = "it does not look on another session";
    return std::unexpected(std::move(e));
  }
  void release(session* s, bool reusable) noexcept override { real_.release(s, reusable); }

 private:
  session_source& real_;
  bool used_ = false;
};

class impatient_contract : public contract_decorator {
 public:
  using contract_decorator::contract_decorator;

 protected:
  result<outcome> run_once(session_source& source, request const& r, effect_function const& f,
                           run_options options) {
    options.retry.max_attempts = 1;
    first_session_only once(source);
    return contract_decorator::run(once, r, f, options);
  }
};

// Takes it for failed, and calls again: under a key of its own making, as a client does that
// makes a new key for each try.
class renaming_contract final : public impatient_contract {
 public:
  using impatient_contract::impatient_contract;

  result<outcome> run(session_source& source, request const& r, effect_function const& f,
                      run_options const& o) override {
    auto answered = run_once(source, r, f, o);
    if (!is_lost(answered)) return answered;
    auto const& id = r.identity();
    auto again = from_bytes({id.scope(), id.operation(), "again"}, r.canonical());
    if (!again) return std::unexpected(std::move(again).error());
    return run_once(source, *again, f, o);
  }
};

// Takes it for done.
class believing_contract final : public impatient_contract {
 public:
  using impatient_contract::impatient_contract;

  result<outcome> run(session_source& source, request const& r, effect_function const& f,
                      run_options const& o) override {
    auto answered = run_once(source, r, f, o);
    if (!is_lost(answered)) return answered;
    return outcome(executed{{}, attempt_id::random()});
  }
  result<outcome> run_fixed(session_source& source, request const& r, fixed_effect const& f,
                            run_options const& o) override {
    auto options = o;
    options.retry.max_attempts = 1;
    first_session_only once(source);
    auto answered = contract_decorator::run_fixed(once, r, f, options);
    if (!is_lost(answered)) return answered;
    return outcome(executed{f.response, attempt_id::random()});
  }
};

}  // namespace

std::unique_ptr<contract> new_key_for_lost(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<renaming_contract>(std::move(real));
}
std::unique_ptr<contract> lost_is_done(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<believing_contract>(std::move(real));
}

}  // namespace idem::inline v1::conformance
