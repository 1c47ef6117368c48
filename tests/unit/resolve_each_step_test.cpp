// SPDX-License-Identifier: BSL-1.0
// `resolve` and `settle`, with every kind of fault at every step: each answer must be true,
// and neither may leave anything behind that it was not asked for.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/support/each_step.h"
#include "tests/support/run_truth.h"
#include "tests/support/scripted_store.h"

namespace {

using namespace idem_test;
using idem::certainty;
using idem::errc;
using idem::record_state;

/// The attempt of `earlier_record`.
idem::attempt_id const our_attempt = [] {
  idem::attempt_id id;
  id.bytes.fill(std::byte{'d'});
  return id;
}();
idem::attempt_id const no_attempt = idem::attempt_id{};

void seed(scripted_world& w, stored row) { w.server.records[the_key()] = std::move(row); }
void nothing(scripted_world&) {}
void completed(scripted_world& w) {
  seed(w, earlier_record(the_request(), 1, record_state::completed));
}
void refusal(scripted_world& w) {
  seed(w, earlier_record(the_request(), 1, record_state::refused));
}
void other_content(scripted_world& w) {
  seed(w, earlier_record(other_request(), 1, record_state::completed));
}
void half_done(scripted_world& w) {
  seed(w, earlier_record(the_request(), 1, record_state::claimed));
}
// A transaction that its owner has not ended holds the key.
void held(scripted_world& w) {
  w.server.claim(*w.server.begin(), the_key(), earlier_record(the_request(), 1, {}));
}
template <waited_for How>
void on_the_way(scripted_world& w) {
  auto const id = *w.server.begin();
  w.server.claim(id, the_key(), earlier_record(the_request(), 1, record_state::completed));
  w.server.commit_later(id, std::nullopt, How);
}

enum class kind : std::uint8_t { executed, replayed, mismatched, open, absent, unproven, failed };

kind kind_of(idem::result<idem::resolution> const& r) {
  return r ? static_cast<kind>(r->index()) : kind::failed;
}

bool proves(flavour const& f) { return f.facts.claim_proves_absence; }
kind when_held(flavour const& f) {
  return f.facts.claim_wait_names_identity ? kind::open : kind::unproven;
}
template <kind K>
kind always(flavour const&) {
  return K;
}
kind when_nothing(flavour const& f) { return proves(f) ? kind::absent : kind::unproven; }
// A cluster does not wait for another node's transaction.
kind when_landing(flavour const& f) { return proves(f) ? kind::executed : kind::unproven; }
kind when_dying(flavour const& f) { return proves(f) ? kind::absent : kind::unproven; }
kind when_holding(flavour const& f) { return proves(f) ? when_held(f) : kind::unproven; }

struct resolve_case {
  char const* name;
  void (*prepare)(scripted_world&);
  idem::attempt_id const& asked;
  kind (*expected)(flavour const&);
};

resolve_case const resolve_cases[] = {
    {"executed", completed, our_attempt, always<kind::executed>},
    {"refusal stored", refusal, our_attempt, always<kind::executed>},
    {"replayed", completed, no_attempt, always<kind::replayed>},
    {"mismatched", other_content, no_attempt, always<kind::mismatched>},
    {"half done by us", half_done, our_attempt, always<kind::failed>},
    {"half done by another", half_done, no_attempt, always<kind::failed>},
    {"absent", nothing, our_attempt, when_nothing},
    {"held", held, our_attempt, when_held},
    {"late, lands", on_the_way<waited_for::lands>, our_attempt, when_landing},
    {"late, dies", on_the_way<waited_for::dies>, our_attempt, when_dying},
    {"late, holds", on_the_way<waited_for::holds>, our_attempt, when_holding},
};

step_report run_resolve(scripted_bench& b, resolve_case const& c,
                        std::vector<injection> const& plan) {
  step_report report;
  scripted_world world(b.kind);
  c.prepare(world);
  auto const before = world.server.records;
  attempt_log log;
  log.attempts = {c.asked};
  world.plan = plan;
  auto const complain = [&](bool holds, char const* what) {
    if (!holds) report.complaints.emplace_back(what);
  };
  {
    scripted_session session(world);
    auto const r = b.store.resolve(session, the_request(), std::span(&c.asked, 1));
    report.trace = world.trace;
    bool const as_expected = kind_of(r) == c.expected(b.kind);
    complain(as_expected || !plan.empty(), "answered otherwise than expected");
    run_judge judge(world, log, run_scenarios().front(), report.complaints);
    if (r || plan.empty())
      judge.resolved(r, false);
    else
      complain(r.error().certainty == certainty::in_doubt || r.error().what == errc::incomplete,
               "a failed resolve answers 'in doubt'");
    bool const rollback_failed =
        world.fired[static_cast<std::size_t>(fault_kind::rollback_fails)] > 0;
    complain(rollback_failed || !session.has_open_transaction(), "a transaction is left open");
  }
  auto const& after = world.server.records;
  bool const landed = before.empty() && after.contains(the_key()) && after.at(the_key()).state == 1;
  complain(after == before || landed, "resolve changed the record");
  complain(world.server.effects.empty(), "resolve had an effect");
  report.fired = world.fired;
  return report;
}

// --- settle ----------------------------------------------------------------------------------

idem::response settled_response() { return {200, {{"by", "hand"}}, "settled"}; }

idem::settlement way(bool as_executed) {
  if (as_executed) return idem::settle_as_executed{settled_response()};
  return idem::settle_discard{};
}

void judge_settled(scripted_world const& world, stored const& half, bool as_executed,
                   idem::result<bool> const& r, std::vector<std::string>& complaints) {
  auto const at = world.server.records.find(the_key());
  bool const there = at != world.server.records.end();
  bool const kept = there && at->second.attempt == half.attempt &&
                    at->second.fingerprint == half.fingerprint &&
                    at->second.version == half.version && at->second.canonical == half.canonical;
  bool const done = as_executed
                        ? kept && stores(at->second, settled_response(), record_state::completed)
                        : !there;
  if (r && (!*r || !done)) complaints.emplace_back("settled, and it is not");
  if (r) return;
  bool const untouched = there && at->second == half;
  if (r.error().certainty == certainty::in_doubt) {
    if (!world.commit_doubtful) complaints.emplace_back("in doubt without a cause");
    if (!untouched && !done) complaints.emplace_back("neither settled nor untouched");
  } else if (!untouched) {
    complaints.emplace_back("not settled, and the record changed");
  }
}

step_report run_settle(scripted_bench& b, bool as_executed, std::vector<injection> const& plan) {
  step_report report;
  scripted_world world(b.kind);
  auto half = earlier_record(the_request(), 1, record_state::claimed);
  half.canonical = "content";
  seed(world, half);
  world.plan = plan;
  idem::result<bool> r = false;
  {
    scripted_session session(world);
    r = b.store.settle(session, the_request().identity(), way(as_executed));
    report.trace = world.trace;
    bool const rollback_failed =
        world.fired[static_cast<std::size_t>(fault_kind::rollback_fails)] > 0;
    if (!rollback_failed && session.has_open_transaction())
      report.complaints.emplace_back("a transaction is left open");
  }
  if (plan.empty() && !r) report.complaints.push_back("not settled: " + idem::describe(r.error()));
  world.server.settle_down();
  report.fired = world.fired;
  judge_settled(world, half, as_executed, r, report.complaints);
  return report;
}

constexpr std::size_t kinds_of_resolve = fault_kinds - 8;  // no COMMIT, no source
constexpr std::size_t kinds_of_settle = fault_kinds - 1;   // no source

}  // namespace

BOOST_AUTO_TEST_SUITE(resolve_each_step)

BOOST_AUTO_TEST_CASE(each_answer_with_one_fault_at_each_step) {
  tally total;
  for (auto const& f : all_flavours()) {
    scripted_bench b(f);
    for (auto const& c : resolve_cases)
      total.add(fail_at_each_step(
          f.name + ": " + c.name, [&](auto const& plan) { return run_resolve(b, c, plan); }, 1,
          all_faults()));
  }
  BOOST_TEST(total.cases > 5'000);
  report_tally(total, kinds_of_resolve);
}

BOOST_AUTO_TEST_CASE(settling_both_ways_with_up_to_two_faults) {
  tally total;
  for (auto const& f : all_flavours()) {
    scripted_bench b(f);
    for (bool as_executed : {true, false})
      total.add(fail_at_each_step(
          f.name + (as_executed ? ": as executed" : ": discard"),
          [&](auto const& plan) { return run_settle(b, as_executed, plan); }, 2, main_faults()));
  }
  BOOST_TEST(total.cases > 5'000);
  report_tally(total, kinds_of_settle);
}

BOOST_AUTO_TEST_CASE(what_was_settled_is_replayed_or_free) {
  for (auto const& f : all_flavours()) {
    for (bool as_executed : {true, false}) {
      scripted_bench b(f);
      scripted_world world(f);
      half_done(world);
      scripted_session session(world);
      auto const done = b.store.settle(session, the_request().identity(), way(as_executed));
      BOOST_TEST((done && *done), f.name);
      scripted_source source(world);
      auto const again = b.store.run(
          source, the_request(), [](idem::transaction&) { return the_response(); }, quick());
      BOOST_REQUIRE_MESSAGE(again, f.name);
      if (as_executed)
        BOOST_TEST((*again == idem::outcome(idem::replayed{settled_response(), false})), f.name);
      else
        BOOST_TEST(std::holds_alternative<idem::executed>(*again), f.name);
    }
  }
}

BOOST_AUTO_TEST_CASE(there_is_nothing_to_settle) {
  for (auto const& f : engine_flavours()) {
    scripted_bench b(f);
    scripted_world world(f);
    scripted_session session(world);
    auto const none = b.store.settle(session, the_request().identity(), way(false));
    BOOST_TEST((none && !*none), f.name);
    completed(world);
    auto const before = world.server.records;
    auto const complete = b.store.settle(session, the_request().identity(), way(false));
    BOOST_TEST((!complete && complete.error().what == errc::invalid_argument), f.name);
    BOOST_TEST((world.server.records == before), f.name);
    BOOST_TEST(!session.has_open_transaction(), f.name);
  }
}

BOOST_AUTO_TEST_CASE(too_large_a_response_settles_nothing) {
  scripted_bench b(engine_flavours().front());
  scripted_world world(b.kind);
  half_done(world);
  auto const before = world.server.records;
  scripted_session session(world);
  idem::response const large{200, {}, std::string(most_response_bytes + 1, 'x')};
  auto const r = b.store.settle(session, the_request().identity(), idem::settle_as_executed{large});
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::response_too_large));
  BOOST_TEST((world.server.records == before));
}

BOOST_AUTO_TEST_SUITE_END()
