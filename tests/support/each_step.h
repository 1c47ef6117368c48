// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/support/scripted_session.h"

namespace idem_test {

/// Every fault, a late COMMIT in each of its ways.
std::span<fault const> all_faults();

/// One of each kind that changes what happens next: for pairs and more.
std::span<fault const> main_faults();

/// "step 4: deadlock, step 9: commit_late by 3 (lands)"
std::string describe(std::span<injection const> plan);

/// What a family of runs came to.
struct tally {
  int cases = 0;
  std::array<int, fault_kinds> fired{};
  struct seen {
    int times = 0;
    std::string first;  ///< where
  };
  std::map<std::string, seen> complaints;

  void complain(std::string const& what, std::string where);
  void add(tally const&);
};

/// One run under a plan: the calls it made, what is wrong with its end, what fired.
struct step_report {
  std::vector<port_call> trace;
  std::vector<std::string> complaints;
  std::array<int, fault_kinds> fired{};
};
using planned_run = std::function<step_report(std::vector<injection> const&)>;

/// Runs without a fault, then with each applicable fault at each step that the run before it
/// reached, `depth` faults at once: it ends by itself when a run reaches no further step.
tally fail_at_each_step(std::string const& name, planned_run const&, int depth,
                        std::span<fault const> faults);

}  // namespace idem_test
