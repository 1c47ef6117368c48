// SPDX-License-Identifier: BSL-1.0
#include <idem/identity.h>
#include <boost/test/unit_test.hpp>
#include <string>

namespace {

using idem::errc;
using idem::identity;

struct part {
  char const* name;
  std::size_t most_bytes;
  std::string_view idem::identity_parts::* where;
};
constexpr part parts[] = {{"scope", 128, &idem::identity_parts::scope},
                          {"operation", 128, &idem::identity_parts::operation},
                          {"key", 255, &idem::identity_parts::key}};

idem::result<identity> with(part const& p, std::string_view text) {
  idem::identity_parts all{"s", "o", "k"};
  all.*p.where = text;
  return identity::make(all);
}

void expect_refused(part const& p, std::string_view text, std::string const& number = "") {
  auto const made = with(p, text);
  BOOST_REQUIRE_MESSAGE(!made, p.name << " of " << text.size() << " bytes");
  auto const& e = made.error();
  BOOST_TEST((e.what == errc::invalid_argument));
  BOOST_TEST((e.certainty == idem::certainty::not_executed));
  BOOST_TEST((e.advice == idem::advice::never));
  BOOST_TEST((e.phase == idem::phase::validate));
  BOOST_TEST(e.message.find(p.name) != std::string::npos, e.message);
  BOOST_TEST(e.message.find(number) != std::string::npos, e.message);
  BOOST_TEST(idem::describe(e).find("secret") == std::string::npos, "the value is shown");
}

std::string const secret = "secret";

}  // namespace

BOOST_AUTO_TEST_SUITE(identity)

BOOST_AUTO_TEST_CASE(lengths_in_bytes) {
  for (auto const& p : parts) {
    expect_refused(p, "", std::to_string(p.most_bytes));
    BOOST_TEST(with(p, "x").has_value());
    BOOST_TEST(with(p, std::string(p.most_bytes, 'x')).has_value());
    auto const long_text = secret + std::string(p.most_bytes + 1 - secret.size(), 'x');
    expect_refused(p, long_text, std::to_string(p.most_bytes));
    expect_refused(p, long_text, std::to_string(p.most_bytes + 1));
    expect_refused(p, secret + std::string(1 << 20, 'x'), std::to_string((1 << 20) + 6));
    // Bytes count, not characters: "é" has two.
    std::string accents;
    while (accents.size() + 2 <= p.most_bytes) accents += "é";
    BOOST_TEST(with(p, accents).has_value());
    expect_refused(p, accents + "é", std::to_string(accents.size() + 2));
  }
}

BOOST_AUTO_TEST_CASE(no_nul) {
  for (auto const& p : parts) {
    for (std::size_t const at : {0U, 3U, 6U})
      expect_refused(p, std::string(secret).insert(at, 1, '\0'), "NUL");
  }
}

BOOST_AUTO_TEST_CASE(utf8_only) {
  for (auto const& p : parts) {
    for (char const* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
                            "\x80", "\xf0\x80\x80\x80"})
      expect_refused(p, secret + bad, "UTF-8");
    BOOST_TEST(with(p, "€ 𝄞 ש 中 \x7f").has_value());
  }
}

BOOST_AUTO_TEST_CASE(kept_and_compared_by_bytes) {
  for (auto const& p : parts) {
    char const* const all[] = {"Ord-1",  "ord-1",   "órd-1",  "o\xcc\x81rd-1",     "ord-1 ",
                               " ord-1", "ord-1\t", "ｏrd-1", "ord\xe2\x80\x8b-1", "🎩",
                               "💥"};
    for (auto const* a : all)
      for (auto const* b : all) BOOST_TEST((with(p, a).value() == with(p, b).value()) == (a == b));
  }
  auto const id = idem::identity::make({"s ", "\to", "k\n"}).value();
  BOOST_TEST(id.scope() == "s ");
  BOOST_TEST(id.operation() == "\to");
  BOOST_TEST(id.key() == "k\n");
}

BOOST_AUTO_TEST_CASE(parts_are_not_run_together) {
  auto const a = idem::identity::make({"a", "bc", "d"}).value();
  BOOST_TEST((a != idem::identity::make({"ab", "c", "d"}).value()));
  BOOST_TEST((a != idem::identity::make({"a", "b", "cd"}).value()));
}

BOOST_AUTO_TEST_CASE(the_first_breach_is_named) {
  auto const made = idem::identity::make({"", "", ""});
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.error().message.find("scope") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
