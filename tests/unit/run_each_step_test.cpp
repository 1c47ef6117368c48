// SPDX-License-Identifier: BSL-1.0
// `store::run` with every kind of fault at every step: whatever it answers must be true of
// the simulated database, at once and after everything abandoned has arrived.
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>

#include <idem/store.h>

#include "tests/support/each_step.h"
#include "tests/support/run_scenarios.h"
#include "tests/support/run_truth.h"
#include "tests/support/scripted_store.h"

namespace {

using namespace idem_test;

run_end do_run(scripted_bench& b, scripted_world& world, scenario const& s,
               idem::session_source& source) {
  run_end end;
  auto const effect = [&](idem::transaction& tx) -> idem::result<idem::answer> {
    return s.effect({world, b.store, tx, ++end.calls});
  };
  try {
    end.answer = b.store.run(source, the_request(), effect, quick(s.refusals));
  } catch (thrown_by_effect const& t) {
    end.thrown = t.value;
  } catch (std::bad_expected_access<idem::error> const&) {
    end.thrown = 42;  // as "effect throws an error" does
  } catch (std::runtime_error const&) {
    end.thrown = 42;  // as "effect hides a deadlock" does
  }
  return end;
}

void resolve_doubt(scripted_bench& b, scripted_world& world, run_end const& end, bool settled,
                   run_judge& judge) {
  if (!end.answer || *end.answer) return;
  auto const& e = end.answer->error();
  if (e.certainty != idem::certainty::in_doubt) return;
  scripted_session fresh(world);
  idem::call_limits limits;
  limits.wait_limit = std::chrono::milliseconds(0);
  judge.resolved(b.store.resolve(fresh, the_request(), e.attempts, limits), settled);
}

std::unique_ptr<idem::session_source> make_source(scripted_world& world, scenario const& s) {
  if (s.lone) return std::make_unique<watched_lone_session>(world);
  return std::make_unique<scripted_source>(world);
}

step_report run_planned(scripted_bench& b, scenario const& s, std::vector<injection> const& plan) {
  step_report report;
  scripted_world world(b.kind);
  s.prepare(world);
  std::optional<scripted_server::transaction_id> other;
  if (s.other_holds) {
    other = world.server.begin();
    world.server.claim(*other, the_key(), earlier_record(the_request(), 1, {}));
  }
  b.log.attempts.clear();
  world.plan = plan;
  run_end end;
  {
    auto source = make_source(world, s);
    end = do_run(b, world, s, *source);
    report.trace = world.trace;
  }
  report.fired = world.fired;
  world.plan.clear();
  run_judge judge(world, b.log, s, report.complaints);
  if (plan.empty()) judge.as_expected(end);
  judge.disciplined(end);
  judge.honest(end, "at once");
  if (other) world.server.rollback(*other);
  attempt_log const attempts_of_run = b.log;
  resolve_doubt(b, world, end, false, judge);
  world.server.settle_down();
  world.server.records_hidden = false;
  judge.honest(end, "after all");
  resolve_doubt(b, world, end, true, judge);
  b.log.attempts = attempts_of_run.attempts;
  call_later(b, world, judge);
  if (world.server.anything_open()) report.complaints.emplace_back("a transaction is left open");
  return report;
}

tally run_scenario(scripted_bench& b, scenario const& s, int depth, std::span<fault const> faults) {
  return fail_at_each_step(
      b.kind.name + ": " + s.name,
      [&](std::vector<injection> const& plan) { return run_planned(b, s, plan); }, depth, faults);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_each_step)

BOOST_AUTO_TEST_CASE(one_fault_at_each_step_of_each_path) {
  tally total;
  for (auto const& f : all_flavours()) {
    scripted_bench b(f);
    for (auto const& s : run_scenarios()) total.add(run_scenario(b, s, 1, all_faults()));
  }
  BOOST_TEST(total.cases > 100'000);
  report_tally(total, fault_kinds);
}

BOOST_AUTO_TEST_CASE(two_faults_in_the_main_paths) {
  tally total;
  for (auto const& f : engine_flavours()) {
    scripted_bench b(f);
    for (auto const& s : run_scenarios())
      if (s.in_pairs) total.add(run_scenario(b, s, 2, main_faults()));
  }
  BOOST_TEST(total.cases > 50'000);
  report_tally(total, fault_kinds);
}

BOOST_AUTO_TEST_SUITE_END()
