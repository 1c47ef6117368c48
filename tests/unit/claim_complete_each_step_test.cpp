// SPDX-License-Identifier: BSL-1.0
// `claim` and `complete` in a caller's transaction, with every kind of fault at every step.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "tests/support/claim_cases.h"
#include "tests/support/each_step.h"
#include "tests/support/run_truth.h"
#include "tests/support/scripted_store.h"

namespace {

using namespace idem_test;
using idem::certainty;

// --- the truth -------------------------------------------------------------------------------

/// Judges one unit of work by the tables.
class unit_judge {
 public:
  unit_judge(scripted_world const& w, unit_owner o, unit_end const& e,
             std::vector<std::string>& complaints)
      : world_(w), owner_(o), end_(e), complaints_(complaints) {
    log_.attempts = e.claimed;
  }

  void honest(std::string const& when) {
    auto const t = read_truth(world_.server, log_);
    expect(t.mine <= 1, "the effect took place twice", when);
    if (world_.blinded) return;
    if (end_.committed) return honest_commit(t, when);
    auto const* e = end_.commit_error ? &*end_.commit_error : nullptr;
    if (e == nullptr && end_.failure) e = &*end_.failure;
    if (e == nullptr) return;
    if (e->certainty == certainty::in_doubt)
      honest_doubt(*e, t, when);
    else
      nothing_of_it(t, when);
  }

  attempt_log const& log() const { return log_; }

 private:
  void expect(bool holds, char const* what, std::string const& when) {
    if (!holds) complaints_.push_back(std::string(what) + ", " + when);
  }

  void nothing_of_it(truth const& t, std::string const& when) {
    expect(t.mine == 0 && !t.ours, "not committed, and something stayed", when);
    expect(!world_.server.records.contains(second_key()), "a second record stayed", when);
  }

  void honest_commit(truth const& t, std::string const& when) {
    if (end_.completed.empty()) {
      // Only a caller who commits against idem's word leaves a record without a response.
      if (owner_ == unit_owner::idem) nothing_of_it(t, when);
      return;
    }
    expect(t.ours && stores(*t.record, the_response(), idem::record_state::completed),
           "committed without its record", when);
    bool const both = end_.completed.size() == 2;
    expect(world_.server.records.contains(second_key()) == both, "half of two records", when);
    // An error that the caller swallowed is the caller's affair where it commits itself.
    if (owner_ == unit_owner::idem) expect(t.mine == 1, "committed without its effect", when);
  }

  void honest_doubt(idem::error const& e, truth const& t, std::string const& when) {
    bool const open_hands = owner_ == unit_owner::caller || !world_.server.kind().guards_commit;
    bool const replaced = open_hands && (world_.replaced || world_.witness_struck);
    expect(world_.commit_doubtful || replaced, "in doubt without a cause", when);
    expect(e.advice == idem::advice::resolve_first || owner_ == unit_owner::caller,
           "in doubt, but not 'resolve first'", when);
    bool const carried = !t.ours || std::ranges::any_of(e.attempts, [&](auto const& id) {
      attempt_log one;
      one.attempts = {id};
      return one.has(t.record->attempt);
    });
    expect(carried, "the attempt that stayed is not named", when);
  }

  scripted_world const& world_;
  unit_owner owner_;
  unit_end const& end_;
  std::vector<std::string>& complaints_;
  attempt_log log_;
};

// Only what can be asked about: attempts whose COMMIT is in doubt.
idem::error const* doubt_of(unit_end const& end) {
  for (auto const* e : {&end.commit_error, &end.failure})
    if (*e && (*e)->certainty == certainty::in_doubt) return &**e;
  return nullptr;
}

void resolve(scripted_bench& b, scripted_world& world, unit_end const& end, bool settled,
             run_judge& judge) {
  auto const* doubt = doubt_of(end);
  if (doubt == nullptr || doubt->attempts.empty()) return;
  scripted_session fresh(world);
  judge.resolved(b.store.resolve(fresh, the_request(), doubt->attempts), settled);
}

unit_end run_unit(scripted_bench& b, scripted_world& world, unit_case const& c, unit_owner owner,
                  std::vector<port_call>& trace) {
  claim_unit unit(world, b.store, owner);
  c.script(unit);
  unit.tx.reset();
  trace = world.trace;
  // A caller whose connection or rollback failed throws the session away.
  return std::move(unit.end);
}

step_report run_planned(scripted_bench& b, unit_case const& c, unit_owner owner,
                        std::vector<injection> const& plan) {
  step_report report;
  scripted_world world(b.kind);
  c.prepare(world);
  std::optional<scripted_server::transaction_id> other;
  if (c.other_holds) {
    other = world.server.begin();
    world.server.claim(*other, the_key(), earlier_record(the_request(), 1, {}));
  }
  world.plan = plan;
  auto const end = run_unit(b, world, c, owner, report.trace);
  world.plan.clear();
  world.server.records_hidden = false;
  report.fired = world.fired;
  report.complaints = end.complaints;
  if (plan.empty() && !c.expected(end, owner, b.kind))
    report.complaints.push_back("ended otherwise than expected: " +
                                (end.commit_error ? idem::describe(*end.commit_error)
                                 : end.failure
                                     ? idem::describe(*end.failure)
                                     : std::string(end.committed ? "committed" : "nothing")));
  unit_judge judge(world, owner, end, report.complaints);
  run_judge answers(world, judge.log(), run_scenarios().front(), report.complaints);
  judge.honest("at once");
  if (other) world.server.rollback(*other);
  resolve(b, world, end, false, answers);
  world.server.settle_down();
  judge.honest("after all");
  resolve(b, world, end, true, answers);
  call_later(b, world, answers);
  if (world.server.anything_open()) report.complaints.emplace_back("a transaction is left open");
  return report;
}

tally run_case(scripted_bench& b, unit_case const& c, int depth, std::span<fault const> faults) {
  tally total;
  for (auto owner : {unit_owner::idem, unit_owner::caller}) {
    if (c.idem_only && owner == unit_owner::caller) continue;
    auto const name = b.kind.name + ": " + c.name +
                      (owner == unit_owner::idem ? " (idem's transaction)" : " (adopted)");
    total.add(fail_at_each_step(
        name, [&](auto const& plan) { return run_planned(b, c, owner, plan); }, depth, faults));
  }
  return total;
}

// All but the faults of a session's source, which is not used here.
constexpr std::size_t kinds_here = fault_kinds - 1;

}  // namespace

BOOST_AUTO_TEST_SUITE(claim_complete_each_step)

BOOST_AUTO_TEST_CASE(one_fault_at_each_step_of_each_use) {
  tally total;
  for (auto const& f : all_flavours()) {
    scripted_bench b(f);
    for (auto const& c : claim_cases()) total.add(run_case(b, c, 1, all_faults()));
  }
  BOOST_TEST(total.cases > 50'000);
  report_tally(total, kinds_here);
}

BOOST_AUTO_TEST_CASE(two_faults_in_the_main_uses) {
  tally total;
  for (auto const& f : engine_flavours()) {
    scripted_bench b(f);
    for (auto const& c : claim_cases())
      if (c.in_pairs) total.add(run_case(b, c, 2, main_faults()));
  }
  BOOST_TEST(total.cases > 10'000);
  report_tally(total, kinds_here);
}

BOOST_AUTO_TEST_SUITE_END()
