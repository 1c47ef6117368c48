// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <idem/conformance/suite.h>

namespace idem::inline v1::conformance {

/// The verdict of one scenario from what its context recorded. `supported` is false where its
/// probe ran instead of its body.
scenario_result judge(catalogue_entry const&, std::string_view engine, context const&,
                      bool supported);

/// The run's own verdict on top of its children's: nothing passed, a required scenario was not
/// run to an answer, facts drifted.
void judge_run(run_report&, std::vector<fact> const& facts_after);

/// Every saboteur must die by FAIL in every scenario that names it and can be shown.
void judge_sabotage(sabotage_report&);

}  // namespace idem::inline v1::conformance
