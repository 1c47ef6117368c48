// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include <idem/store.h>

#include "tests/support/each_step.h"
#include "tests/support/run_truth.h"

namespace idem_test {

/// The store of one flavour; its observer notes the attempts of the run going on.
struct scripted_bench {
  explicit scripted_bench(flavour f);

  flavour kind;
  attempt_log log;
  idem::store store;

 private:
  idem::store open();
};

/// Run options that do not wait between attempts.
idem::run_options quick(idem::refusal_policy = idem::refusal_policy::roll_back);

/// After everything, the client asks once more and nothing goes wrong.
void call_later(scripted_bench&, scripted_world&, run_judge&);

/// Turns a tally into the verdict of the running test case: nobody complained, and so many
/// kinds of fault fired at least once.
void report_tally(tally const&, std::size_t kinds_expected);

}  // namespace idem_test
