// SPDX-License-Identifier: BSL-1.0
// Verdicts are decided here and nowhere else.
#include "conformance/gate.h"

#include <algorithm>

namespace idem::inline v1::conformance {

namespace {

// "name@engine" must be seen on that engine only.
std::vector<std::string> missing_marks(catalogue_entry const& entry, std::string_view engine,
                                       std::set<std::string> const& seen) {
  std::vector<std::string> missing;
  for (auto const& mark : entry.marks) {
    auto const at = mark.find('@');
    bool const applies = at == std::string::npos || mark.substr(at + 1) == engine;
    if (applies && !seen.contains(mark.substr(0, at))) missing.push_back(mark.substr(0, at));
  }
  return missing;
}

std::string joined(std::vector<std::string> const& parts) {
  std::string all;
  for (auto const& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

void decide(catalogue_entry const& entry, bool supported, int own_checks, scenario_result& r) {
  auto const failed = std::ranges::find(r.checks, false, &check_entry::ok);
  if (failed != r.checks.end()) {
    r.verdict = verdict::fail;
    r.reason = failed->what + " (" + failed->place + ")";
    return;
  }
  r.verdict = verdict::vacuous;
  if (own_checks < (supported ? std::max(entry.min_checks, 1) : 1)) {
    r.reason = "only " + std::to_string(own_checks) + " checks were made";
  } else if (supported && !r.missing_marks.empty()) {
    r.reason = "never seen: " + joined(r.missing_marks);
  } else if (supported && entry.runs_effect && r.body_calls == 0) {
    r.reason = "no effect was run";
  } else {
    r.verdict = supported ? verdict::pass : verdict::unsupported;
    if (!supported) r.reason = "the engine cannot show it; its probe passed";
  }
}

}  // namespace

scenario_result judge(catalogue_entry const& entry, std::string_view engine, context const& c,
                      bool supported) {
  scenario_result r;
  r.id = entry.id;
  r.checks = c.checks();
  r.marks.assign(c.marks().begin(), c.marks().end());
  r.missing_marks = missing_marks(entry, engine, c.marks());
  r.log = c.lines();
  r.history = c.history();
  r.body_calls = c.body_calls();
  decide(entry, supported, static_cast<int>(c.own_checks()), r);
  return r;
}

void judge_run(run_report& report, std::vector<fact> const& facts_after) {
  auto const raise = [&report](verdict v, std::string reason) {
    if (report.verdict >= v) return;
    report.verdict = v;
    report.reason = std::move(reason);
  };
  bool const one_passed = std::ranges::any_of(
      report.results, [](scenario_result const& r) { return r.verdict == verdict::pass; });
  if (!one_passed) raise(verdict::vacuous, "no scenario passed: nothing was shown");
  if (report.verdict == verdict::unsupported)
    report.reason = "all is shown but what this engine cannot show, as the probes proved";
  if (facts_after != report.facts)
    raise(verdict::indeterminate, "the server's facts changed during the run");
}

void judge_sabotage(sabotage_report& report) {
  report.verdict = verdict::pass;
  // Dead in one scenario that this engine can show. A saboteur whose scenarios it cannot show at
  // all is neither dead nor alive here: SELF-01 passes over it likewise.
  std::map<std::string, bool> shown;
  for (auto const& k : report.kills) {
    if (k.verdict == verdict::unsupported) continue;
    bool& dead = shown[k.saboteur];
    if (k.verdict == verdict::fail) {
      dead = true;
      continue;
    }
    report.survivors.push_back(k.saboteur + " survived " + k.scenario + " (" +
                               std::string(to_string(k.verdict)) + ")");
    report.verdict =
        worst(report.verdict, k.verdict == verdict::error ? verdict::error : verdict::fail);
  }
  for (auto const& [saboteur, dead] : shown) {
    if (dead) continue;
    report.survivors.push_back(saboteur + " was killed by no scenario");
    report.verdict = worst(report.verdict, verdict::fail);
  }
  if (shown.empty()) {
    report.survivors.emplace_back(report.kills.empty()
                                      ? "no saboteur was run"
                                      : "this engine can show none of the scenarios");
    report.verdict = verdict::vacuous;
  }
}

}  // namespace idem::inline v1::conformance
