// SPDX-License-Identifier: BSL-1.0
// POL: sessions are taken clean, left clean, and never taken from their user.
#include <array>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/pool_parts.h"

namespace idem::inline v1::conformance {

namespace {

/// Counts what reaches the driver, and can tell another status than the driver's.
class counting_session final : public session_decorator {
 public:
  using session_decorator::session_decorator;

  result<transaction_status> status() override {
    if (pretended) return *pretended;
    return session_decorator::status();
  }
  result<> begin(begin_options const& o) override {
    ++sent;
    return session_decorator::begin(o);
  }
  result<> commit(std::span<statement const> last, call_limits const& l) override {
    ++sent;
    return session_decorator::commit(last, l);
  }
  result<> rollback() noexcept override {
    ++sent;
    return session_decorator::rollback();
  }
  result<std::vector<rows>> execute(std::span<statement const> s, call_limits const& l) override {
    ++sent;
    return session_decorator::execute(s, l);
  }

  int sent = 0;
  std::optional<transaction_status> pretended;
};

struct counted {
  counting_session* below;
  std::unique_ptr<session> top;
};

// The contract's own wrapping goes on top: what is counted is what is left of a call below it.
counted make_counted(context& c) {
  auto below =
      std::make_unique<counting_session>(c.must(c.engine().connect(), "a session is opened"));
  auto* raw = below.get();
  return {raw, c.idem().adapt(std::move(below))};
}

// POL-10
void check_refused(context& c, counted& s, operation const& asked, errc code,
                   std::string const& what) {
  int const sent = s.below->sent;
  int const calls = c.body_calls(asked);
  auto const called = c.run(*s.top, asked);
  check_failed(c, called, code, what);
  c.check(!called.answered && called.answered.error().certainty == certainty::not_executed,
          what + ": the error says that nothing was executed");
  c.check(s.below->sent == sent, what + ": nothing was sent");
  c.check(c.body_calls(asked) == calls, what + ": the effect did not run");
}

// The caller is in the middle of an operation of its own.
void in_open_transaction(context& c, counted& s) {
  auto const own = c.make_operation("the caller's");
  stepwise step(c, *s.top, own);
  c.must(step.begin(), "the caller's transaction begins");
  c.check(step.claim() == "claimed", "the caller claims");
  c.must(step.effect(), "the caller's effect writes");
  auto const id = c.must(c.engine().transaction_id(*s.top), "the server names it");
  auto const mine = c.must(c.engine().ledger(*s.top), "the caller reads its writes").size();
  check_refused(c, s, c.make_operation("another's"), errc::session_not_idle,
                "another key in an open transaction");
  check_refused(c, s, own, errc::session_not_idle, "the same key in an open transaction");
  auto const still = c.must(c.engine().transaction_id(*s.top), "the server names it again");
  auto const seen = c.must(c.engine().ledger(*s.top), "the caller reads its writes").size();
  if (c.check(!id.empty() && still == id && seen == mine, "the transaction is as it was"))
    c.mark("transaction_kept");
  c.must(step.complete(), "the caller completes");
  c.must(step.commit(), "the caller commits");
  c.check_stored(own, 1, true);
}

// `run` inside an effect: on the session under the transaction, and on the source itself.
void nested(context& c, counted& s) {
  auto const outer = c.make_operation("outer");
  auto const inner = c.make_operation("inner");
  lone_session source(*s.top);
  effect_function const effect = [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, outer);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    int const sent = s.below->sent;
    for (auto const& asked : {inner, outer}) {
      check_failed(c, c.run(tx.session(), asked), errc::session_not_idle,
                   "a nested run on the transaction's session");
      check_failed(c, c.run(source, asked), errc::session_not_idle,
                   "a nested run on the session's source");
    }
    if (c.check(s.below->sent == sent, "the nested runs sent nothing")) c.mark("nested_refused");
    return answer(c.response_with(std::move(*nonce)));
  };
  auto const called = c.run(source, outer, effect);
  check_executed(c, called, "the outer run");
  c.check(c.body_calls(outer) == 1 && c.body_calls(inner) == 0, "only the outer effect ran");
  c.check_stored(outer, 1, true);
  c.check_stored(inner, 0, false);
  check_executed(c, c.run(*s.top, inner), "the inner one, afterwards");
}

// Unread results, a pipeline, a failed transaction: whatever the driver calls not idle.
void in_other_states(context& c, counted& s) {
  auto const op = c.make_operation("other states");
  constexpr std::array states{std::pair(transaction_status::busy, errc::session_not_idle),
                              std::pair(transaction_status::failed, errc::session_not_idle),
                              std::pair(transaction_status::unknown, errc::connection_lost)};
  for (auto const& [status, code] : states) {
    s.below->pretended = status;
    check_refused(c, s, op, code, "a session whose driver says otherwise");
    s.below->pretended.reset();
  }
  check_executed(c, c.run(*s.top, op), "the same call when it is idle");
  c.check_stored(op, 1, true);
}

void check_left_clean(context& c, counted& s, std::string const& what) {
  auto const id = c.engine().transaction_id(*s.top);
  auto const status = s.top->status();
  c.check(id && id->empty() && status && *status == transaction_status::idle,
          what + " leaves the session without a transaction");
}

void only_idle_sessions(context& c) {
  auto s = make_counted(c);
  in_open_transaction(c, s);
  check_left_clean(c, s, "an operation of the caller's own");
  nested(c, s);
  check_left_clean(c, s, "a run with nested runs");
  in_other_states(c, s);
  check_left_clean(c, s, "a run after refused ones");
  auto const refusing = c.make_operation("refused");
  effect_function const no = [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, refusing);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(refusal{{402, {}, *nonce}});
  };
  c.check(c.run(*s.top, refusing, no).is<refused>(), "an effect says no");
  check_left_clean(c, s, "a refusal");
  c.check_stored(refusing, 0, false);
}

constexpr std::array all{
    scenario{"POL-01", returned_clean, std::nullopt, nullptr},
    scenario{"POL-02", dirty_sessions, std::nullopt, nullptr},
    scenario{"POL-04", statement_outlives_ddl, capability::alter_table, nothing_to_alter},
    scenario{"POL-05", idle_session_died, std::nullopt, nullptr},
    scenario{"POL-06", unread_results, capability::unread_results, nothing_unread},
    scenario{"POL-09", pool_exhausted, std::nullopt, nullptr},
    scenario{"POL-10", only_idle_sessions, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> pool_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
