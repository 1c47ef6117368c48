// SPDX-License-Identifier: BSL-1.0
// The scenarios as a Boost.Test tree, on the target given behind `--`. Boost.Test shows and
// selects; the verdicts and the exit code are the suite's own, since a run in which every case
// was skipped or nothing was asserted ends with 0 in Boost.Test.
#include <idem/conformance/suite.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <iostream>
#include <map>

#include "conformance/subjects/subjects.h"

namespace {

namespace conformance = idem::conformance;
namespace unit = boost::unit_test;
using conformance::verdict;

std::unique_ptr<conformance::subject> subject;
std::size_t ran = 0;
verdict worst_of_all = verdict::pass;

void run_scenario(std::string const& id) {
  conformance::suite_options options;
  options.select.scenarios = {id};
  options.worker = {IDEM_TOOL, "conformance", "worker"};
  auto const report = conformance::run_suite(*subject, options);
  if (!report) BOOST_FAIL(idem::describe(report.error()));
  auto const& result = report->results.front();
  ++ran;
  worst_of_all = conformance::worst(worst_of_all, result.verdict);
  BOOST_TEST(conformance::exit_code(result.verdict) == 0,
             id << " " << to_string(result.verdict) << ": " << result.reason);
}

bool make_tree() {
  std::map<std::string, unit::test_suite*> groups;
  for (auto const& entry : conformance::catalogue()) {
    auto const group = entry.id.substr(0, entry.id.find('-'));
    auto& suite = groups[group];
    if (suite == nullptr) {
      suite = new unit::test_suite(group, __FILE__, __LINE__);
      unit::framework::master_test_suite().add(suite);
    }
    auto const id = entry.id;
    suite->add(unit::make_test_case([id] { run_scenario(id); }, id, __FILE__, __LINE__));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const target = argc > 1 ? argv[argc - 1] : "";
  auto made = conformance::make_subject(target);
  if (!made) {
    std::cerr << "give a target behind --: " << idem::describe(made.error()) << "\n";
    return 3;
  }
  subject = std::move(*made);
  int const shown = unit::unit_test_main(make_tree, argc, argv);
  subject.reset();
  if (ran == 0) {
    std::cerr << "no scenario was run\n";
    return 3;
  }
  return std::max(conformance::exit_code(worst_of_all), shown == 0 ? 0 : 1);
}
