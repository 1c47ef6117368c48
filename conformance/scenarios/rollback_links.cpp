// SPDX-License-Identifier: BSL-1.0
// RBK-12: the connection ends before COMMIT was sent, so that not even ROLLBACK arrives.
#include <string>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/links.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

namespace {

run_options hurried() {
  run_options options;
  options.retry.max_attempts = 3;
  options.retry.base_delay = std::chrono::milliseconds(1);
  return options;
}

// Writes, loses the connection, and then asks for more or says that all is well.
effect_function losing_effect(context& c, operation const& op, std::function<void()> lose,
                              bool goes_on) {
  return [&c, op, lose = std::move(lose), goes_on](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    c.check(sees_effect(c, tx, op), "the effect has written");
    lose();
    if (goes_on)
      if (auto more = c.engine().write(tx, {op.tag, "after the cut", 0, 1}); !more)
        return std::unexpected(std::move(more).error());
    return answer(c.response_with(std::move(*nonce)));
  };
}

void check_known_failure(context& c, operation const& op, call const& called,
                         std::string const& what) {
  check_failed(c, called, errc::connection_lost, what);
  c.check(!called.answered && called.answered.error().certainty == certainty::rolled_back,
          what + ": it is known that nothing of it stays, for no COMMIT was sent");
  c.check(c.body_calls(op) == 1, what + ": the effect had run");
  c.check_stored(op, 0, false);
  auto& s = c.connect();
  auto const next = c.run(s, op);
  check_executed(c, next, what + ": the next call, on another connection");
  c.check_stored(op, 1, true);
  check_replayed(c, c.run(s, op), next, what + ": the call after it");
}

// There is no other connection to find out with, and nothing to be found out.
void cut_under_lone_session(context& c, bool goes_on) {
  std::string const what = goes_on ? "cut, with a statement after it" : "cut at the effect's end";
  auto const op = c.make_operation(what);
  auto below =
      std::make_unique<cuttable_session>(c.must(c.engine().connect(), "a session is opened"));
  auto& link = *below;
  auto const top = c.idem().adapt(std::move(below));
  auto const called =
      c.run(*top, op, losing_effect(c, op, [&] { link.cut(); }, goes_on), hurried());
  if (c.check(link.commits() == 0, what + ": no COMMIT was sent")) c.mark("no_commit_sent");
  if (c.check(link.failed_rollbacks() > 0, what + ": ROLLBACK fails")) c.mark("rollback_failed");
  check_known_failure(c, op, called, what);
}

// A pool has another one: the whole is started over there.
void cut_under_pool(context& c) {
  cuttable_pool pool(c);
  auto const op = c.make_operation("pool");
  bool cut = false;
  auto const lose = [&] {
    if (!std::exchange(cut, true)) pool.last().cut();
  };
  effect_function const effect = [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    lose();
    return answer(c.response_with(std::move(*nonce)));
  };
  auto const called = c.run(pool.source(), op, effect, hurried());
  check_executed(c, called, "a call whose first connection is cut");
  c.check(pool.opened() == 2 && c.body_calls(op) == 2,
          "the effect ran again on a second connection");
  c.check_stored(op, 1, true);
  check_replayed(c, c.run(c.connect(), op), called, "the next call");
}

// Without the later statement the driver would not know, and would send COMMIT.
void killed_by_server(context& c) {
  std::string const what = "killed, with a statement after it";
  auto const op = c.make_operation(what);
  auto const top = c.idem().adapt(c.must(c.engine().connect(), "a session is opened"));
  bool killed = false;
  auto const lose = [&] { killed = c.engine().kill_session(*top).has_value(); };
  auto const called = c.run(*top, op, losing_effect(c, op, lose, true), hurried());
  if (c.check(killed, "the server ends the session")) c.mark("killed_by_server");
  check_known_failure(c, op, called, what);
}

}  // namespace

void rollback_fails(context& c) {
  cut_under_lone_session(c, true);
  cut_under_lone_session(c, false);
  cut_under_pool(c);
  if (!c.engine().declared().contains(capability::kill_session)) {
    auto& s = c.connect();
    c.check(!c.engine().kill_session(s) && s.status() == transaction_status::idle,
            "this engine has no server that could end a session");
    return;
  }
  killed_by_server(c);
}

}  // namespace idem::inline v1::conformance
