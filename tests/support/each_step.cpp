// SPDX-License-Identifier: BSL-1.0
#include "tests/support/each_step.h"

#include <utility>

namespace idem_test {

namespace {

std::vector<fault> make_faults(bool all) {
  std::vector<fault> made;
  for (std::size_t i = 0; i < fault_kinds; ++i) {
    auto const kind = static_cast<fault_kind>(i);
    if (kind != fault_kind::commit_late) made.push_back({kind, 0, waited_for::dies});
  }
  for (auto when : {waited_for::lands, waited_for::dies, waited_for::holds}) {
    for (int late_by : {0, 1, 3, 4, 5, 7}) {
      // Long after the run, or while the next attempt is at its commit.
      if (all || late_by == 0 || late_by == 5)
        made.push_back({fault_kind::commit_late, late_by, when});
    }
  }
  return made;
}

void explore(std::string const& name, planned_run const& run, std::vector<injection>& plan,
             std::size_t depth, std::span<fault const> faults, tally& total) {
  auto const report = run(plan);
  ++total.cases;
  for (std::size_t i = 0; i < fault_kinds; ++i) total.fired[i] += report.fired[i];
  for (auto const& what : report.complaints)
    total.complain(what, name + " [" + describe(plan) + "]");
  if (plan.size() == depth) return;
  int const reached = static_cast<int>(report.trace.size());
  for (int step = plan.empty() ? 1 : plan.back().step + 1; step <= reached; ++step) {
    for (auto const& f : faults) {
      if (!applies(f, report.trace[static_cast<std::size_t>(step - 1)])) continue;
      plan.push_back({step, f});
      explore(name, run, plan, depth, faults, total);
      plan.pop_back();
    }
  }
}

}  // namespace

std::span<fault const> all_faults() {
  static std::vector<fault> const faults = make_faults(true);
  return faults;
}

std::span<fault const> main_faults() {
  static std::vector<fault> const faults = make_faults(false);
  return faults;
}

std::string describe(std::span<injection const> plan) {
  static constexpr char const* ways[] = {"lands", "dies", "holds"};
  std::string text;
  for (auto const& [step, what] : plan) {
    if (!text.empty()) text += ", ";
    text += "step " + std::to_string(step) + ": " + name_of(what.kind);
    if (what.kind == fault_kind::commit_late)
      text += " by " + std::to_string(what.late_by) + " (" +
              ways[static_cast<std::size_t>(what.when_waited)] + ")";
  }
  return text.empty() ? "no fault" : text;
}

void tally::complain(std::string const& what, std::string where) {
  auto& known = complaints[what];
  if (++known.times == 1) known.first = std::move(where);
}

void tally::add(tally const& other) {
  cases += other.cases;
  for (std::size_t i = 0; i < fault_kinds; ++i) fired[i] += other.fired[i];
  for (auto const& [what, seen] : other.complaints) {
    auto& known = complaints[what];
    if (known.times == 0) known.first = seen.first;
    known.times += seen.times;
  }
}

tally fail_at_each_step(std::string const& name, planned_run const& run, int depth,
                        std::span<fault const> faults) {
  tally total;
  std::vector<injection> plan;
  explore(name, run, plan, static_cast<std::size_t>(depth), faults, total);
  return total;
}

}  // namespace idem_test
