// SPDX-License-Identifier: BSL-1.0
// How the suite judges a run of saboteurs, what it selects, and how a run's last line reads.
#include "conformance/gate.h"

#include <idem/conformance/report.h>

#include <boost/test/unit_test.hpp>

namespace {

using namespace idem::conformance;  // NOLINT(google-build-using-namespace)

sabotage_report judged(std::vector<kill> kills) {
  sabotage_report report;
  report.kills = std::move(kills);
  judge_sabotage(report);
  return report;
}

std::string last_line(std::vector<verdict> const& verdicts, std::vector<fact> const& after = {}) {
  run_report report;
  report.subject = "engine";
  report.target = "engine:";
  report.verdict = verdict::pass;
  for (auto const v : verdicts) {
    scenario_result r;
    r.id = "ABC-01";
    r.verdict = v;
    report.verdict = worst(report.verdict, v);
    report.results.push_back(std::move(r));
  }
  judge_run(report, after);
  auto const text = summary_text(report);
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

idem::errc refused(std::string saboteur, std::vector<std::string> scenarios) {
  suite_options options;
  options.saboteur = std::move(saboteur);
  options.select.scenarios = std::move(scenarios);
  auto const selected = select_sabotage(options);
  BOOST_REQUIRE(!selected);
  return selected.error().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gate)

BOOST_AUTO_TEST_CASE(one_that_cannot_be_shown_is_neither_dead_nor_alive) {
  auto const report = judged({{"S1", "A-1", verdict::fail, ""},
                              {"S1", "A-2", verdict::unsupported, ""},
                              {"S8", "A-3", verdict::unsupported, ""}});
  BOOST_TEST((report.verdict == verdict::pass));
  BOOST_TEST(report.survivors.empty());
}

BOOST_AUTO_TEST_CASE(a_survivor_is_named_with_what_it_survived) {
  auto const report = judged({{"S1", "A-1", verdict::fail, ""}, {"S2", "A-2", verdict::pass, ""}});
  BOOST_TEST((report.verdict == verdict::fail));
  BOOST_REQUIRE(!report.survivors.empty());
  BOOST_TEST(report.survivors.front() == "S2 survived A-2 (PASS)");
  BOOST_TEST((judged({{"S1", "A-1", verdict::error, ""}}).verdict == verdict::error));
}

BOOST_AUTO_TEST_CASE(nothing_shown_proves_nothing) {
  BOOST_TEST((judged({}).verdict == verdict::vacuous));
  BOOST_TEST((judged({{"S8", "A-3", verdict::unsupported, ""}}).verdict == verdict::vacuous));
}

BOOST_AUTO_TEST_CASE(sabotage_of_nothing_is_refused) {
  BOOST_TEST((refused("S99", {}) == idem::errc::invalid_argument));
  BOOST_TEST((refused("", {"SELF-01"}) == idem::errc::invalid_argument));
  BOOST_TEST((refused("S0", {"ABC-01"}) == idem::errc::invalid_argument));
  suite_options all;
  BOOST_TEST(select_sabotage(all).value().size() > saboteurs().size() / 2);
}

BOOST_AUTO_TEST_CASE(the_last_line_is_plain) {
  using enum verdict;
  BOOST_TEST(last_line({pass, pass}) == "verdict: PASS (2 shown)\n");
  BOOST_TEST(last_line({pass, unsupported, pass}) ==
             "verdict: PASS (2 shown, 1 proven impossible on this engine)\n");
  BOOST_TEST(last_line({pass, known_fail}) == "verdict: PASS (1 shown, 1 failing as declared)\n");
  BOOST_TEST(last_line({unsupported}) ==
             "verdict: VACUOUS: no scenario passed: nothing was shown\n");
  BOOST_TEST(last_line({pass, fail}) == "verdict: FAIL\n");
  BOOST_TEST(last_line({pass}, {{"version", "2"}}) ==
             "verdict: INDETERMINATE: the server's facts changed during the run\n");
}

BOOST_AUTO_TEST_SUITE_END()
