// SPDX-License-Identifier: BSL-1.0
// Random pairs of JSON texts: the canonical forms are equal exactly where the values are. The
// values are told apart by the model here, which shares no code with the canonical form: texts
// are written from models, and never read.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/canonical_json.h"
#include "tests/support/json_values.h"

namespace {

using idem::detail::canonical_json;
using namespace idem_test::json;

/// The test fails where the text is refused.
std::string canonical(std::string const& text, std::vector<std::string> const& left_out = {}) {
  auto const form = canonical_json(text, left_out, {});
  BOOST_REQUIRE_MESSAGE(form, "seed " << seed() << ", refused: " << text);
  return *form;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json_property)

BOOST_AUTO_TEST_CASE(forms_are_equal_exactly_where_values_are) {
  constexpr size_t pairs = 100'000;
  generator gen(seed());
  size_t equal = 0;
  for (size_t i = 0; i < pairs; ++i) {
    auto const first = gen.make(3);
    auto const second = partner_of(first, gen);
    auto const a = gen.spell(first);
    auto const b = gen.spell(second);
    bool const expected = same(first, second);
    equal += expected ? 1 : 0;
    auto const form = canonical(a);
    BOOST_REQUIRE_MESSAGE((form == canonical(b)) == expected,
                          "seed " << seed() << ", pair " << i << ", values are "
                                  << (expected ? "equal" : "not equal") << ":\n"
                                  << a << "\n"
                                  << b);
    BOOST_REQUIRE_MESSAGE(canonical(form) == form, "seed " << seed() << ", pair " << i);
  }
  BOOST_TEST_MESSAGE("equal pairs: " << equal << " of " << pairs);
  BOOST_TEST(equal >= pairs / 10);
  BOOST_TEST(pairs - equal >= pairs / 10);
}

BOOST_AUTO_TEST_CASE(a_left_out_member_is_as_one_not_written) {
  generator gen(seed() + 1);
  for (size_t i = 0; i < 10'000; ++i) {
    auto const kept = gen.make(1);
    value const list = container(kind::array, {}, {gen.make(1), gen.make(2)});
    value with = container(kind::object, {U"list", U"~/"}, {list, gen.make(2)});
    with.items[0].items.push_back(container(kind::object, {U"a", U"b"}, {gen.make(1), kept}));
    value without = container(kind::object, {U"list"}, {list});
    without.items[0].items.push_back(container(kind::object, {U"b"}, {kept}));
    gen.shuffle(with);
    auto const text = gen.spell(with);
    BOOST_REQUIRE_MESSAGE(canonical(text, {"/~0~1", "/list/2/a"}) == canonical(gen.spell(without)),
                          "seed " << seed() + 1 << ", text " << i << ": " << text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
