// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <idem/store.h>

#include "tests/support/each_step.h"
#include "tests/support/run_scenarios.h"

namespace idem_test {

/// Notes the attempts of the run that is going on.
class attempt_log final : public idem::observer {
 public:
  void on_attempt(idem::attempt_id const& id, int) override { attempts.push_back(id); }
  std::vector<idem::attempt_id> attempts;
  bool has(std::string const& stored_attempt) const;
};

/// What the tables hold about one run.
struct truth {
  int mine = 0;     ///< committed effects of the run under test
  int effects = 0;  ///< and of every other
  std::optional<stored> record;
  bool ours = false;  ///< the record is of one of the run's attempts
};
truth read_truth(scripted_server const&, attempt_log const&);

/// How the run under test ended.
struct run_end {
  std::optional<idem::result<idem::outcome>> answer;
  std::optional<int> thrown;
  int calls = 0;  ///< of the effect
};

/// Calls `complain(std::string)` for whatever is not true of a run's end.
class run_judge {
 public:
  run_judge(scripted_world const& w, attempt_log const& log, scenario const& s,
            std::vector<std::string>& complaints)
      : world_(w), log_(log), scenario_(s), complaints_(complaints) {}

  /// To be called at once and again when everything abandoned has arrived.
  void honest(run_end const&, char const* when);
  /// The run met no fault: it must end as the scenario says.
  void as_expected(run_end const&);
  void disciplined(run_end const&);
  /// What `store::resolve` answered; `settled`: nothing is on the way any more.
  void resolved(idem::result<idem::resolution> const&, bool settled);
  /// What a later call without any fault was answered.
  void later_call(idem::result<idem::outcome> const&);

 private:
  void complain(std::string what) { complaints_.push_back(std::move(what)); }
  void expect(bool holds, char const* what, char const* when = "");
  void honest_error(idem::error const&, run_end const&, truth const&, char const* when);
  void honest_answer(idem::outcome const&, truth const&, char const* when);
  void nothing_of_it(truth const&, char const* when);
  bool doubt_allowed() const;

  scripted_world const& world_;
  attempt_log const& log_;
  scenario const& scenario_;
  std::vector<std::string>& complaints_;
};

/// `r` as it is stored.
bool stores(stored const&, idem::response const&, idem::record_state);

}  // namespace idem_test
