// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include <idem/conformance/suite.h>

namespace idem::inline v1::conformance {

/// The catalogue for people: one line a row.
std::string list_text(std::vector<catalogue_entry> const&);
std::string list_json(std::vector<catalogue_entry> const&);
std::string saboteurs_text();

/// A table of verdicts by group, every verdict that is not PASS with its reason, and the run's.
std::string summary_text(run_report const&);
std::string summary_text(sabotage_report const&);

/// Everything seen: facts, every check, mark and history line. No secret is in any of it.
std::string report_json(std::vector<run_report> const&);
std::string report_json(sabotage_report const&);

/// JUnit XML: FAIL as failure, ERROR and VACUOUS as error, UNSUPPORTED as skipped.
std::string report_junit(std::vector<run_report> const&);

}  // namespace idem::inline v1::conformance
