// SPDX-License-Identifier: BSL-1.0
// Each hook once where it is due, and a hook that throws changes nothing.
#include <idem/store.h>
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/run_scenarios.h"
#include "tests/support/run_truth.h"
#include "tests/support/scripted_store.h"

namespace {

using namespace idem_test;
using names = std::vector<std::string>;

/// Notes every hook; throws in those that it is told to.
class full_log : public idem::observer {
 public:
  void on_attempt(idem::attempt_id const&, int number) override {
    attempt_number = number;
    note("on_attempt");
  }
  void on_retry(idem::error const& e, std::chrono::milliseconds) override {
    retried = e.what;
    note("on_retry");
  }
  void on_wait(std::chrono::microseconds waited) override {
    waited_for = waited;
    note("on_wait");
  }
  void on_outcome(idem::outcome const& o) override {
    outcome = o;
    note("on_outcome");
  }
  void on_error(idem::error const& e) override {
    error = e;
    note("on_error");
  }
  void on_in_doubt(idem::error const& e) override {
    doubt = e;
    note("on_in_doubt");
  }
  void on_destructor_failure(std::string_view where, idem::error const&) noexcept override {
    hooks.push_back("on_destructor_failure " + std::string(where));
  }
  void on_hook_failure(std::string_view hook, std::exception_ptr thrown) noexcept override {
    failed.emplace_back(hook);
    try {
      std::rethrow_exception(thrown);
    } catch (int value) {
      last_thrown = value;
    } catch (...) {
    }
  }

  std::ptrdiff_t count(char const* hook) const { return std::ranges::count(hooks, hook); }

  names hooks, failed;
  bool throws = false;
  int attempt_number = 0, last_thrown = 0;
  idem::errc retried{};
  std::chrono::microseconds waited_for{};
  std::optional<idem::outcome> outcome;
  std::optional<idem::error> error, doubt;

 private:
  void note(char const* hook) {
    hooks.emplace_back(hook);
    if (throws) throw 42;
  }
};

struct observed_run {
  explicit observed_run(flavour f = engine_flavours().front()) : world(std::move(f)) {
    scripted_session session(world);
    idem::store_options options;
    options.observer = &log;
    store.emplace(idem::store::open(session, options).value());
    world.trace.clear();
  }

  idem::result<idem::outcome> run(idem::run_options const& options = quick()) {
    scripted_source source(world);
    auto const effect = [this](idem::transaction& tx) -> idem::result<idem::answer> {
      if (auto written = tx.execute("EFFECT ?", {mine}); !written)
        return std::unexpected(written.error());
      return answer;
    };
    return store->run(source, the_request(), effect, options);
  }

  full_log log;
  scripted_world world;
  std::optional<idem::store> store;
  idem::answer answer = the_response();
};

int step_of(port_call wanted) {
  observed_run clean;
  BOOST_REQUIRE(clean.run());
  auto const at = std::ranges::find(clean.world.trace, wanted);
  return static_cast<int>(at - clean.world.trace.begin()) + 1;
}

// Spins: the clock is what is waited for.
void pass_time(std::chrono::milliseconds time) {
  auto const until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) continue;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(observer)

BOOST_AUTO_TEST_CASE(an_execution) {
  observed_run r;
  auto const o = r.run();
  BOOST_REQUIRE(o);
  BOOST_TEST(r.log.count("on_attempt") == 1);
  BOOST_TEST(r.log.count("on_outcome") == 1);
  BOOST_TEST(r.log.count("on_retry") + r.log.count("on_error") + r.log.count("on_in_doubt") == 0);
  BOOST_TEST((r.log.outcome == *o));
  BOOST_TEST(r.log.hooks.back() == "on_outcome");
}

BOOST_AUTO_TEST_CASE(a_replay_and_a_mismatch) {
  for (bool same : {true, false}) {
    observed_run r;
    r.world.server.records[the_key()] =
        earlier_record(same ? the_request() : other_request(), 1, idem::record_state::completed);
    auto const o = r.run();
    BOOST_REQUIRE(o);
    BOOST_TEST((r.log.outcome == *o));
    BOOST_TEST(r.log.count("on_outcome") == 1);
    BOOST_TEST(r.log.count("on_error") == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_retry) {
  observed_run r;
  r.world.effect_errors = {fault_kind::deadlock, fault_kind::serialization};
  BOOST_REQUIRE(r.run());
  BOOST_TEST(r.log.count("on_attempt") == 3);
  BOOST_TEST(r.log.attempt_number == 3);
  BOOST_TEST(r.log.count("on_retry") == 2);
  BOOST_TEST((r.log.retried == idem::errc::serialization_failure));
  BOOST_TEST(r.log.count("on_outcome") == 1);
  BOOST_TEST(r.log.count("on_error") == 0);
}

BOOST_AUTO_TEST_CASE(a_final_error) {
  observed_run r;
  r.world.plan = {{step_of(port_call::execute), {fault_kind::statement_error, 0, {}}}};
  auto const o = r.run();
  BOOST_REQUIRE(!o);
  BOOST_TEST(r.log.count("on_error") == 1);
  BOOST_TEST((r.log.error == o.error()));
  BOOST_TEST(r.log.count("on_outcome") + r.log.count("on_retry") == 0);
}

BOOST_AUTO_TEST_CASE(out_of_attempts) {
  observed_run r;
  r.world.effect_errors.assign(9, fault_kind::deadlock);
  BOOST_TEST(!r.run());
  BOOST_TEST(r.log.count("on_attempt") == 5);
  BOOST_TEST(r.log.count("on_retry") == 4);
  BOOST_TEST(r.log.count("on_error") == 1);
}

BOOST_AUTO_TEST_CASE(a_doubt_that_is_cleared) {
  observed_run r;
  r.world.plan = {
      {step_of(port_call::save_commit), {fault_kind::commit_unanswered, 0, waited_for::dies}}};
  auto const o = r.run();
  BOOST_REQUIRE(o);
  BOOST_TEST(std::holds_alternative<idem::executed>(*o));
  BOOST_TEST(r.log.count("on_in_doubt") == 1);
  BOOST_TEST((r.log.doubt->what == idem::errc::commit_in_doubt));
  BOOST_TEST(r.log.doubt->attempts.size() == 1);
  BOOST_TEST(r.log.count("on_error") == 0);
  BOOST_TEST(r.log.count("on_outcome") == 1);
}

BOOST_AUTO_TEST_CASE(a_doubt_that_stays) {
  observed_run r;
  auto const commit = step_of(port_call::save_commit);
  r.world.plan = {{commit, {fault_kind::commit_late, 0, waited_for::holds}}};
  auto const o = r.run();
  BOOST_REQUIRE(!o);
  BOOST_TEST((o.error().certainty == idem::certainty::in_doubt));
  BOOST_TEST(r.log.count("on_in_doubt") == 1);
  BOOST_TEST(r.log.count("on_error") == 1);
  BOOST_TEST(r.log.count("on_outcome") == 0);
  r.world.server.settle_down();
}

BOOST_AUTO_TEST_CASE(a_wait) {
  observed_run r;
  int executes = 0;
  r.world.on_step = [&executes](port_call c) {
    if (c == port_call::execute && ++executes == 1) pass_time(std::chrono::milliseconds(3));
  };
  BOOST_REQUIRE(r.run());
  BOOST_TEST(r.log.count("on_wait") == 1);
  BOOST_TEST((r.log.waited_for >= std::chrono::milliseconds(3)));
}

BOOST_AUTO_TEST_CASE(a_rollback_that_fails) {
  observed_run r;
  r.answer = idem::refusal{the_refusal()};
  BOOST_REQUIRE(r.run());
  auto const at = std::ranges::find(r.world.trace, port_call::rollback);
  auto const step = static_cast<int>(at - r.world.trace.begin()) + 1;
  observed_run again;
  again.answer = idem::refusal{the_refusal()};
  again.world.plan = {{step, {fault_kind::rollback_fails, 0, {}}}};
  BOOST_REQUIRE(again.run());
  BOOST_TEST(again.log.count("on_destructor_failure rollback") == 1);
}

BOOST_AUTO_TEST_CASE(hooks_that_throw_change_nothing) {
  observed_run r;
  r.log.throws = true;
  r.world.effect_errors = {fault_kind::deadlock};
  auto const o = r.run();
  BOOST_REQUIRE(o);
  BOOST_TEST(std::holds_alternative<idem::executed>(*o));
  BOOST_TEST((r.world.server.effects == names{mine}));
  BOOST_TEST((r.log.failed == names{"on_attempt", "on_retry", "on_attempt", "on_outcome"}));
  BOOST_TEST(r.log.last_thrown == 42);
}

BOOST_AUTO_TEST_CASE(hooks_that_throw_leave_errors_as_they_are) {
  observed_run r;
  r.log.throws = true;
  auto const commit = step_of(port_call::save_commit);
  r.world.plan = {{commit, {fault_kind::commit_late, 0, waited_for::holds}}};
  auto const o = r.run();
  BOOST_REQUIRE(!o);
  BOOST_TEST((o.error().what == idem::errc::commit_in_doubt));
  BOOST_TEST(std::ranges::count(r.log.failed, "on_in_doubt") == 1);
  BOOST_TEST(std::ranges::count(r.log.failed, "on_error") == 1);
  r.world.server.settle_down();
}

BOOST_AUTO_TEST_CASE(an_observer_that_overrides_nothing) {
  idem::observer nothing;
  BOOST_CHECK_NO_THROW(nothing.on_attempt({}, 1));
  nothing.on_retry({}, {});
  nothing.on_wait({});
  nothing.on_outcome(idem::in_progress{});
  nothing.on_error({});
  nothing.on_in_doubt({});
  nothing.on_destructor_failure("", {});
  nothing.on_hook_failure("", nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
