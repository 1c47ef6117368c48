// SPDX-License-Identifier: BSL-1.0
// POL-01: however an operation fails, its session comes back without a transaction.
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/pool_parts.h"

namespace idem::inline v1::conformance {

namespace {

using provocation = std::function<result<>(transaction&)>;

class failures {
 public:
  explicit failures(context& c) : c_(c), pool_(c.make_pool(1)) {}

  int failed() const noexcept { return failed_; }

  /// An operation whose effect writes, provokes and then answers or passes the error on.
  void provoke(std::string const& what, provocation const& p, bool swallows = false,
               run_options options = {}) {
    options.retry.max_attempts = 2;
    options.retry.base_delay = std::chrono::milliseconds(1);
    auto const op = c_.make_operation(what);
    ended(what, c_.run(pool_, op, effect(op, p, swallows), options));
  }

  void ended(std::string const& what, call const& called) {
    failed_ += called.answered ? 0 : 1;
    c_.log(what + ": " + called.name());
    check_clean(what);
  }

  void check_clean(std::string const& what) {
    call_limits soon;
    soon.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    auto lease = session_lease::acquire(pool_, soon);
    if (!c_.check(lease.has_value(), "the pool has a session after: " + what)) return;
    auto const status = (*lease)->status();
    auto const id = c_.engine().transaction_id(**lease);
    c_.check(status && *status == transaction_status::idle && id && id->empty(),
             "the session has no transaction after: " + what);
  }

  session_source& pool() noexcept { return pool_; }

 private:
  effect_function effect(operation const& op, provocation const& p, bool swallows) {
    return [this, op, p, swallows](transaction& tx) -> result<answer> {
      auto nonce = c_.write_effect(tx, op);
      if (!nonce) return std::unexpected(std::move(nonce).error());
      if (auto provoked = p(tx); !provoked && !swallows)
        return std::unexpected(std::move(provoked).error());
      return answer(c_.response_with(std::move(*nonce)));
    };
  }

  context& c_;
  session_source& pool_;
  int failed_ = 0;
};

void own_failures(context& c, failures& f) {
  f.provoke("the effect fails", [](transaction&) -> result<> { return declined(); });
  auto const thrown = c.make_operation("the effect throws");
  try {
    c.run(f.pool(), thrown, [&](transaction& tx) -> result<answer> {
      auto nonce = c.write_effect(tx, thrown);
      throw std::runtime_error("planted");
    });
  } catch (std::runtime_error const&) {
    c.note(thrown, told::failed);
  }
  f.check_clean("the effect throws");
  auto const refusing = c.make_operation("the effect says no");
  for (auto const policy : {refusal_policy::roll_back, refusal_policy::store}) {
    run_options options;
    options.refusals = policy;
    f.ended("the effect says no", c.run(
                                      f.pool(), refusing,
                                      [&](transaction& tx) -> result<answer> {
                                        auto nonce = c.write_effect(tx, refusing);
                                        if (!nonce)
                                          return std::unexpected(std::move(nonce).error());
                                        return answer(refusal{{402, {}, "no"}});
                                      },
                                      options));
  }
  auto const op = c.make_operation("asked twice");
  f.ended("executed", c.run(f.pool(), op));
  f.ended("replayed", c.run(f.pool(), op));
  f.ended("other content", c.run(f.pool(), c.make_operation("asked twice", "other")));
}

void refused_statements(context& c, failures& f) {
  auto& engine = c.engine();
  auto const declared = engine.declared();
  for (bool const swallows : {false, true}) {
    std::string const how = swallows ? ", swallowed" : "";
    f.provoke(
        "a constraint" + how, [&](transaction& tx) { return engine.break_constraint(tx); },
        swallows);
    if (declared.contains(capability::statement_can_end_transaction))
      f.provoke(
          "a lost transaction" + how, [&](transaction& tx) { return engine.break_transaction(tx); },
          swallows);
  }
  if (declared.contains(capability::deferred_constraint))
    f.provoke("a constraint at COMMIT",
              [&](transaction& tx) { return engine.break_at_commit(tx); });
  if (declared.contains(capability::lock_wait_in_effect)) {
    auto& holder = c.connect();
    c.must(engine.hold_lock(holder), "another holds a lock");
    f.provoke("a lock time-out",
              [&](transaction& tx) { return engine.want_lock(tx, std::chrono::milliseconds(20)); });
    c.must(engine.release_lock(holder), "it lets go");
  }
}

void spoilt_saves(context& c, failures& f) {
  auto& engine = c.engine();
  auto const large = c.make_operation("too large");
  f.ended("too large", c.run(f.pool(), large, [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, large);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(c.response_with(std::string(store_options{}.max_response_bytes + 1, 'x')));
  }));
  auto const lost = c.make_operation("its record is gone");
  f.ended("its record is gone", c.run(f.pool(), lost, [&](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, lost);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    if (auto gone = engine.delete_record(tx, lost.request.identity()); !gone)
      return std::unexpected(std::move(gone).error());
    return answer(c.response_with(std::move(*nonce)));
  }));
  for (auto const how : {ending::rollback, ending::commit, ending::commit_and_begin})
    f.provoke(
        "ended by its effect " + std::to_string(static_cast<int>(how)),
        [&, how](transaction& tx) { return engine.end_transaction(tx, how); }, true);
}

void lost_patience(context& c, failures& f) {
  std::stop_source stop;
  run_options stopped;
  stopped.stop = stop.get_token();
  auto const again = [&c](transaction& tx) { return c.engine().write(tx, {"late", "late", 0, 1}); };
  f.provoke(
      "stopped",
      [&](transaction& tx) {
        stop.request_stop();
        return again(tx);
      },
      false, stopped);
  run_options late;
  late.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  f.provoke(
      "too late",
      [&](transaction& tx) {
        c.await([&] { return std::chrono::steady_clock::now() >= late.deadline; });
        return again(tx);
      },
      false, late);
  auto const op = c.make_operation("busy");
  held_operation holder(c, c.connect(), op);
  c.require(holder.await_held(), "another call has the key");
  run_options hasty;
  hasty.wait_limit = std::chrono::milliseconds(0);
  f.ended("busy", c.run(f.pool(), op, hasty));
  check_executed(c, holder.commit(), "the other call");
}

void lost_to_others(context& c, failures& f) {
  auto& engine = c.engine();
  auto const declared = engine.declared();
  if (declared.contains(capability::commit_conflict)) {
    run_options strongest;
    strongest.isolation = engine.levels().back().asked;
    f.provoke(
        "a conflict at COMMIT", [&](transaction& tx) { return engine.conflict_at_commit(tx); },
        false, strongest);
  }
  if (declared.contains(capability::unread_results))
    f.provoke("results left unread",
              [&](transaction& tx) { return engine.leave_unread(tx.session()); });
}

}  // namespace

void returned_clean(context& c) {
  constexpr int wanted = 8;
  failures f(c);
  own_failures(c, f);
  refused_statements(c, f);
  spoilt_saves(c, f);
  lost_patience(c, f);
  lost_to_others(c, f);
  if (c.check(f.failed() >= wanted, std::to_string(f.failed()) + " operations have failed"))
    c.mark("kinds_of_failure");
  auto const op = c.make_operation("after all");
  check_executed(c, c.run(f.pool(), op), "a call after all of them");
  c.check_stored(op, 1, true);
}

}  // namespace idem::inline v1::conformance
