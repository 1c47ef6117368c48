// SPDX-License-Identifier: BSL-1.0
// Random pairs of JSON texts: the fingerprint's canonical forms are equal exactly where PostgreSQL
// takes the texts for the same jsonb. Where jsonb cannot say, neither is asked: it has no U+0000.
// https://www.postgresql.org/docs/15/datatype-json.html
#include <array>
#include <vector>

#include "core/canonical_json.h"
#include "tests/support/json_values.h"
#include "tests/support/postgresql_server.h"

namespace {

using namespace idem_test::json;
using idem::parameter;
using idem_test::must;

struct pair_of_texts {
  std::string a, b;
  bool same_form = false;
};

std::string canonical(std::string const& text) {
  return must(idem::detail::canonical_json(text, {}, {}));
}

bool has_no_nul(std::string const& text) { return !text.contains("\\u0000"); }

std::vector<pair_of_texts> make_pairs(generator& gen, size_t count) {
  std::vector<pair_of_texts> made;
  while (made.size() < count) {
    auto const first = gen.make(3);
    auto const second = partner_of(first, gen);
    auto a = gen.spell(first);
    auto b = gen.spell(second);
    if (!has_no_nul(a) || !has_no_nul(b)) continue;
    bool const same_form = canonical(a) == canonical(b);
    made.push_back({std::move(a), std::move(b), same_form});
  }
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(forms_are_equal_exactly_where_jsonb_is) {
  constexpr size_t pairs = 100'000;
  constexpr size_t in_one_flush = 500;
  auto const session = idem_test::postgresql_world::connect(idem_test::postgresql_url());
  generator gen(seed());
  size_t equal = 0;
  for (size_t done = 0; done < pairs; done += in_one_flush) {
    auto const some = make_pairs(gen, in_one_flush);
    std::vector<std::array<parameter, 2>> bound;
    std::vector<idem::statement> all;
    bound.reserve(some.size());
    for (auto const& p : some) {
      bound.push_back({parameter(p.a), parameter(p.b)});
      all.push_back({"SELECT ?::jsonb = ?::jsonb", bound.back()});
    }
    auto const answered = must(session->execute(all, {}));
    for (size_t i = 0; i < some.size(); ++i) {
      bool const same_value = as_integer(answered[i][0][0]) != 0;
      equal += same_value ? 1 : 0;
      BOOST_REQUIRE_MESSAGE(same_value == some[i].same_form,
                            "seed " << seed() << ": jsonb says "
                                    << (same_value ? "equal" : "not equal") << " of\n"
                                    << some[i].a << "\n"
                                    << some[i].b);
    }
  }
  BOOST_TEST_MESSAGE("equal pairs: " << equal << " of " << pairs);
  BOOST_TEST(equal >= pairs / 10);
  BOOST_TEST(pairs - equal >= pairs / 10);
}

BOOST_AUTO_TEST_SUITE_END()
