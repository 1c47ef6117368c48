// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <idem/conformance/catalogue.h>
#include <idem/conformance/context.h>
#include <idem/conformance/contract.h>
#include <idem/conformance/subject.h>
#include <idem/conformance/verdict.h>

namespace idem::inline v1::conformance {

/// A scenario's code. `probe` runs instead where the subject does not declare `needs`: it must
/// check that the phenomenon cannot be shown there.
struct scenario {
  std::string_view id;
  void (*body)(context&);
  std::optional<capability> needs;
  void (*probe)(context&) = nullptr;
};

/// All scenarios of this build, in the catalogue's order.
std::vector<scenario> const& scenarios();
scenario const* find_scenario(std::string_view id);

/// One broken store. `make` decorates the real contract; `subject` tells it about the engine.
struct saboteur {
  std::string_view id;
  std::string_view what;
  std::unique_ptr<contract> (*make)(std::unique_ptr<contract>, subject&);
};
std::vector<saboteur> const& saboteurs();
saboteur const* find_saboteur(std::string_view id);

struct scenario_result {
  std::string id;
  conformance::verdict verdict = conformance::verdict::error;
  std::string reason;  ///< the first failed check, the missing marks, the error
  std::vector<check_entry> checks;
  std::vector<std::string> marks;
  std::vector<std::string> missing_marks;
  std::vector<std::string> log;
  std::vector<history_entry> history;
  int body_calls = 0;
  std::chrono::milliseconds took{0};
};

struct run_report {
  std::string subject;
  std::string target;
  std::vector<fact> facts;
  std::string catalogue;
  std::string profile;
  std::uint64_t seed = 0;
  int repeat = 1;
  std::vector<scenario_result> results;
  conformance::verdict verdict = conformance::verdict::error;
  std::string reason;  ///< why the run as a whole is worse than its children
};

/// Of a whole run: an error before its first scenario is "could not run".
inline int exit_code(result<run_report> const& r) noexcept {
  return exit_code(r ? r->verdict : verdict::error);
}

struct selection {
  std::string profile;                 ///< empty: every profile
  std::vector<std::string> scenarios;  ///< empty: all of the profile
};

struct suite_options {
  selection select;
  int repeat = 1;
  std::uint64_t seed = 1;
  conformance::worker_command worker;
  std::string saboteur;  ///< empty: the real store
  /// Part of a run that keeps others away from the tables already.
  bool inner = false;
  /// Called as each scenario starts (no result yet) and ends.
  std::function<void(std::size_t number, std::size_t total, std::string const& id,
                     scenario_result const*)>
      progress;
};

/// The ids selected, in order. Errors: `invalid_argument` for an unknown id or profile and for
/// a selection of nothing.
[[nodiscard]] result<std::vector<std::string>> select(selection const&);

/// Runs the selection. Errors only before the first scenario: nothing selected, no connection,
/// no schema.
[[nodiscard]] result<run_report> run_suite(subject&, suite_options const&);

struct kill {
  std::string saboteur;
  std::string scenario;
  conformance::verdict verdict;  ///< of the scenario under the saboteur: `fail` is a kill
  std::string reason;
};

struct sabotage_report {
  std::string subject;
  std::vector<kill> kills;
  std::vector<std::string> survivors;  ///< "S8 (RBK-09)": named and not killed
  conformance::verdict verdict = conformance::verdict::error;
};

struct sabotage {
  std::string saboteur;
  catalogue_entry const* entry;
};

/// Each selected saboteur with each selected scenario that names it. Errors: `invalid_argument` as
/// `select`, for an unknown saboteur and for a selection of nothing.
[[nodiscard]] result<std::vector<sabotage>> select_sabotage(suite_options const&);

/// Runs every saboteur against every selected scenario that names it.
[[nodiscard]] result<sabotage_report> run_sabotage(subject&, suite_options const&);

/// The body of a worker process: arguments as `context::worker` gives them.
int worker_main(subject_factory, std::vector<std::string> const& arguments, std::string& output);

}  // namespace idem::inline v1::conformance
