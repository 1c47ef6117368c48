// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include <idem/conformance/catalogue.h>
#include <idem/conformance/suite.h>

#include "conformance/gate.h"

namespace {

using idem::conformance::catalogue;
using idem::conformance::find_saboteur;
using idem::conformance::saboteurs;

int number_of(std::string_view id) {
  BOOST_REQUIRE_MESSAGE(id.size() > 1 && id.front() == 'S', "an id is S and a number: " << id);
  return std::stoi(std::string(id.substr(1)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(saboteur)

BOOST_AUTO_TEST_CASE(every_one_that_a_row_names_exists) {
  std::size_t named = 0;
  for (auto const& row : catalogue()) {
    for (auto const& id : row.kills) {
      BOOST_TEST(find_saboteur(id) != nullptr, row.id << " names " << id);
      ++named;
    }
  }
  BOOST_TEST(named > catalogue().size() / 2, "rows name saboteurs at all");
}

BOOST_AUTO_TEST_CASE(ids_are_unique_and_in_order) {
  BOOST_TEST(!saboteurs().empty());
  auto const ascending = [](auto const& a, auto const& b) {
    return number_of(a.id) < number_of(b.id);
  };
  auto const out_of_order = std::ranges::adjacent_find(
      saboteurs(), [&](auto const& a, auto const& b) { return !ascending(a, b); });
  BOOST_TEST((out_of_order == saboteurs().end()));
}

BOOST_AUTO_TEST_CASE(each_says_what_it_does_and_can_be_made) {
  for (auto const& s : saboteurs()) {
    BOOST_TEST(!s.what.empty(), s.id << " is described");
    BOOST_TEST((s.make != nullptr), s.id << " can be made");
    BOOST_TEST(find_saboteur(s.id) == &s, s.id << " is found");
  }
}

BOOST_AUTO_TEST_CASE(descriptions_differ) {
  for (auto const& s : saboteurs())
    BOOST_TEST(std::ranges::count(saboteurs(), s.what, &idem::conformance::saboteur::what) == 1,
               s.id << " is described as another is");
}

BOOST_AUTO_TEST_CASE(what_an_engine_cannot_show_is_no_survivor) {
  using enum idem::conformance::verdict;
  auto const judged = [](std::vector<idem::conformance::kill> kills) {
    idem::conformance::sabotage_report report;
    report.kills = std::move(kills);
    idem::conformance::judge_sabotage(report);
    return std::string(to_string(report.verdict));
  };
  BOOST_TEST(judged({{"S0", "RPL-01", fail, ""}, {"S8", "RBK-08", unsupported, ""}}) == "PASS");
  BOOST_TEST(judged({{"S8", "RBK-08", unsupported, ""}}) == "VACUOUS");
  BOOST_TEST(judged({}) == "VACUOUS");
  BOOST_TEST(judged({{"S0", "RPL-01", fail, ""}, {"S1", "RPL-02", pass, ""}}) == "FAIL");
  BOOST_TEST(judged({{"S1", "RPL-02", error, ""}}) == "ERROR");
}

BOOST_AUTO_TEST_CASE(an_unknown_id_is_not_found) {
  for (std::string_view const id : {"", "S", "S99", "s0", "S0 ", "none"})
    BOOST_TEST(find_saboteur(id) == nullptr, id << " is nobody");
}

BOOST_AUTO_TEST_SUITE_END()
