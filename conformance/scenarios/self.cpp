// SPDX-License-Identifier: BSL-1.0
// SELF: the suite tests itself. A suite that cannot fail says nothing by passing.
#include <algorithm>
#include <array>
#include <utility>

#include <idem/conformance/sql_subject.h>
#include <idem/conformance/suite.h>

#include "conformance/gate.h"
#include "conformance/reference.h"
#include "conformance/scenarios/groups.h"

namespace idem::inline v1::conformance {

namespace {

bool is_self(std::string_view id) { return id.starts_with("SELF-"); }

// What runs inside these scenarios never holds one of them, so nothing runs itself.
std::vector<std::string> all_but_self() {
  std::vector<std::string> ids;
  for (auto const& entry : catalogue())
    if (!is_self(entry.id)) ids.push_back(entry.id);
  return ids;
}

suite_options inner_options(context const& c, std::vector<std::string> ids, std::string saboteur) {
  suite_options options;
  options.select.scenarios = std::move(ids);
  options.seed = c.seed();
  options.worker = c.worker_start();
  options.saboteur = std::move(saboteur);
  options.inner = true;
  return options;
}

// SELF-01: each saboteur against the first scenario that names it and that this engine can
// show. The whole table is `idem sabotage`.
std::optional<scenario_result> first_meeting(context& c, std::string const& saboteur) {
  for (auto const& entry : catalogue()) {
    if (std::ranges::find(entry.kills, saboteur) == entry.kills.end()) continue;
    auto const report = c.must(run_suite(c.engine(), inner_options(c, {entry.id}, saboteur)),
                               "the suite runs under " + saboteur);
    auto const& met = report.results.front();
    if (met.verdict != verdict::unsupported) return met;
  }
  return std::nullopt;
}

bool is_named(std::string_view saboteur) {
  return std::ranges::any_of(catalogue(), [&](catalogue_entry const& entry) {
    return std::ranges::find(entry.kills, saboteur) != entry.kills.end();
  });
}

void saboteurs_die(context& c) {
  std::size_t named = 0, killed = 0;
  for (auto const& s : saboteurs()) {
    std::string const id(s.id);
    if (!c.check(is_named(id), id + " is named by a scenario")) continue;
    auto const met = first_meeting(c, id);
    if (!met) {
      c.log(id + ": this engine cannot show what it does");
      continue;
    }
    ++named;
    bool const dead = met->verdict == verdict::fail;
    killed += dead ? 1 : 0;
    c.check(dead, id + " (" + std::string(s.what) + ") dies in " + met->id + "; the verdict was " +
                      std::string(to_string(met->verdict)) + " " + met->reason);
    c.log(id + " died in " + met->id + ": " + met->reason);
  }
  c.start_over();
  c.log(std::to_string(killed) + " of " + std::to_string(named) + " died");
  if (named > 0 && killed == named) c.mark("every_saboteur_died");
}

// SELF-02
run_report run_reference(context& c, std::string const& saboteur) {
  auto const reference = make_reference_subject();
  auto options = inner_options(c, all_but_self(), saboteur);
  auto report = c.must(run_suite(*reference, options), "the reference is run");
  c.check(report.results.size() == options.select.scenarios.size(),
          "every scenario is judged: " + std::to_string(report.results.size()));
  return report;
}

void null_store_and_reference(context& c) {
  auto const total = all_but_self().size();
  std::size_t failed = 0, passed = 0;
  for (auto const& r : run_reference(c, "S0").results)
    failed += c.check(r.verdict == verdict::fail, "a store that does nothing fails " + r.id +
                                                      "; the verdict was " +
                                                      std::string(to_string(r.verdict)))
                  ? 1
                  : 0;
  for (auto const& r : run_reference(c, "").results)
    passed += c.check(r.verdict == verdict::pass || r.verdict == verdict::unsupported,
                      "the reference passes " + r.id + "; the verdict was " +
                          std::string(to_string(r.verdict)) + " " + r.reason)
                  ? 1
                  : 0;
  c.log(std::to_string(failed) + " failed by the null store and " + std::to_string(passed) +
        " passed by the reference, of " + std::to_string(total));
  if (failed == total) c.mark("null_store_fails_all");
  if (passed == total) c.mark("reference_passes_all");
  for (auto const& s : scenarios())
    c.check(find_entry(s.id) != nullptr, std::string(s.id) + " has a row in the catalogue");
}

// SELF-03
class unreachable_subject final : public sql_subject {
 public:
  unreachable_subject() : sql_subject(subject_statements{}) {}

  std::string name() const override { return "unreachable"; }
  std::string target() const override { return "unreachable:"; }
  std::set<capability> declared() const override { return {}; }
  result<std::vector<fact>> facts() override { return no_server(); }
  result<std::unique_ptr<session>> connect() override { return no_server(); }
  result<std::string> session_id(session&) override { return no_server(); }
  bool waiting(session&) override { return false; }
  result<std::string> transaction_id(session&) override { return no_server(); }
  result<> restart() override { return no_server(); }
  result<> hold_lock(session&) override { return no_server(); }
  result<> release_lock(session&) override { return no_server(); }
  result<> want_lock(transaction&, std::chrono::milliseconds) override { return no_server(); }

 private:
  static std::unexpected<error> no_server() {
    error e;
    e.what = errc::connection_failed;
    e.phase = phase::connect;
    return std::unexpected(std::move(e));
  }
};

void check_not_green(context& c, result<run_report> const& r, std::string const& what,
                     std::string mark) {
  if (c.check(exit_code(r) != 0, what + " is not green")) c.mark(std::move(mark));
}

void check_nothing_run(context& c, subject& reference) {
  unreachable_subject nowhere;
  auto const unreachable = run_suite(nowhere, inner_options(c, {"RPL-01"}, ""));
  c.check(!unreachable && unreachable.error().what == errc::connection_failed,
          "an unreachable database is told as one");
  check_not_green(c, unreachable, "an unreachable database", "unreachable_target");

  auto const unknown = run_suite(reference, inner_options(c, {"RPL-01", "NONE-99"}, ""));
  check_not_green(c, unknown, "an unknown scenario", "unknown_scenario");
  auto profile = inner_options(c, {}, "");
  profile.select.profile = "no such profile";
  check_not_green(c, run_suite(reference, profile), "an unknown profile", "unknown_profile");
  auto nothing = inner_options(c, {"RPL-01"}, "");
  nothing.select.profile = find_entry("ISO-11")->profile;
  check_not_green(c, run_suite(reference, nothing), "a selection of nothing", "empty_selection");
}

// A scenario and its row that are in no catalogue, run and judged as those that are.
scenario_result run_planted(context& c, subject& s, catalogue_entry const& entry,
                            void (*body)(context&), bool supported = true) {
  auto const opened = c.must(s.connect(), "the reference is connected");
  store_options options;
  options.schema = s.names().schema;
  options.prefix = s.names().prefix;
  auto const real = make_contract(c.must(store::open(*opened, options), "the store opens"));
  context inner(s, *real, entry.id, c.seed(), {}, "");
  try {
    body(inner);
  } catch (scenario_stopped const&) {
    inner.log("stopped");
  }
  inner.check_invariants();
  return judge(entry, s.name(), inner, supported);
}

catalogue_entry planted_row(std::vector<std::string> marks, int min_checks) {
  catalogue_entry entry;
  entry.id = "PLANT-01";
  entry.must = "A planted row.";
  entry.profile = "core";
  entry.marks = std::move(marks);
  entry.min_checks = min_checks;
  return entry;
}

void sound(context& c) {
  auto const called = c.run(c.connect(), c.make_operation("sound"));
  if (c.check(called.is<executed>(), "the call is executed")) c.mark("seen");
}
void without_assertion(context& c) { c.run(c.connect(), c.make_operation("unasserted")); }
void without_effect(context& c) {
  c.check(true, "nothing was done");
  c.mark("seen");
}
void failing(context& c) {
  sound(c);
  c.check(false, "planted");
}

void check_planted(context& c, subject& s) {
  struct planted {
    std::string what;
    std::string mark;
    catalogue_entry row;
    void (*body)(context&);
    verdict expected;
  };
  std::vector<planted> const all{
      {"a sound scenario", "sound_passes", planted_row({"seen"}, 1), sound, verdict::pass},
      {"a scenario without an assertion", "no_assertion", planted_row({}, 1), without_assertion,
       verdict::vacuous},
      {"fewer assertions than the row says", "too_few_assertions", planted_row({"seen"}, 2), sound,
       verdict::vacuous},
      {"a mark that was not seen", "mark_missing", planted_row({"seen", "never seen"}, 1), sound,
       verdict::vacuous},
      {"a scenario that ran no effect", "no_effect", planted_row({"seen"}, 1), without_effect,
       verdict::vacuous},
      {"a failed assertion", "failed_assertion", planted_row({"seen"}, 1), failing, verdict::fail},
  };
  for (auto const& p : all) {
    auto const r = run_planted(c, s, p.row, p.body);
    bool const green = exit_code(r.verdict) == 0;
    bool const as_expected = r.verdict == p.expected && green == (p.expected == verdict::pass);
    if (c.check(as_expected, p.what + " is " + std::string(to_string(p.expected)) +
                                 "; the verdict was " + std::string(to_string(r.verdict)) + " " +
                                 r.reason))
      c.mark(p.mark);
  }
}

// A run of children that are all excused, and one whose server changed under it.
void check_whole_runs(context& c, subject& s) {
  auto const excused = run_planted(c, s, planted_row({"seen"}, 1), sound, false);
  c.check(excused.verdict == verdict::unsupported, "a passed probe is unsupported");
  run_report report;
  report.verdict = worst(excused.verdict, excused.verdict);
  report.results = {excused, excused};
  judge_run(report, report.facts);
  check_not_green(c, report, "a run in which all is unsupported", "all_unsupported");

  run_report drifted;
  drifted.results = {run_planted(c, s, planted_row({"seen"}, 1), sound)};
  drifted.verdict = drifted.results.front().verdict;
  auto steady = drifted;
  judge_run(steady, steady.facts);
  c.check(exit_code(steady.verdict) == 0, "a run with a pass and steady facts is green");
  judge_run(drifted, {{"version", "another"}});
  check_not_green(c, drifted, "a run whose server changed", "facts_drifted");
}

void nothing_passes_unseen(context& c) {
  auto const reference = make_reference_subject();
  c.must(reference->prepare(), "the reference is prepared");
  check_nothing_run(c, *reference);
  c.must(reference->prepare(), "the reference is prepared again");
  check_planted(c, *reference);
  check_whole_runs(c, *reference);
}

constexpr std::array all{
    scenario{"SELF-01", saboteurs_die, std::nullopt, nullptr},
    scenario{"SELF-02", null_store_and_reference, std::nullopt, nullptr},
    scenario{"SELF-03", nothing_passes_unseen, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> self_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
