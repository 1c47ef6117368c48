// SPDX-License-Identifier: BSL-1.0
#include <idem/error.h>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

namespace {

// Every value up to the last one has a name of its own, and the next has none: a new
// enumerator without a name fails here, as does this test if it is not the last any more.
template <class Enum>
void expect_names(Enum last) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    auto const name = idem::to_string(static_cast<Enum>(i));
    BOOST_TEST(name != "unknown", i);
    BOOST_TEST(!name.empty());
    BOOST_TEST(names.insert(name).second, name);
  }
  BOOST_TEST(idem::to_string(static_cast<Enum>(static_cast<int>(last) + 1)) == "unknown");
}

idem::error sample() {
  idem::error e;
  e.what = idem::errc::unique_violation;
  e.phase = idem::phase::effect;
  e.certainty = idem::certainty::rolled_back;
  e.message = "our words";
  e.native = {"23505", 1062, "Key (name)=(secret) already exists"};
  e.attempts = {idem::attempt_id{}};
  return e;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(error)

BOOST_AUTO_TEST_CASE(every_enumerator_has_a_name) {
  expect_names(idem::errc::commit_in_doubt);
  expect_names(idem::phase::schema);
  expect_names(idem::certainty::in_doubt);
  expect_names(idem::advice::resolve_first);
}

BOOST_AUTO_TEST_CASE(describe_has_no_text_of_the_servers) {
  auto const line = idem::describe(sample());
  BOOST_TEST(line ==
             "unique_violation: our words (phase effect, rolled_back, advice never, SQLSTATE "
             "23505, native code 1062, attempt 00000000000000000000000000000000)");
  BOOST_TEST(line.find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(describe_leaves_out_what_is_not_there) {
  BOOST_TEST(idem::describe({}) == "statement_failed (phase validate, not_executed, advice never)");
}

BOOST_AUTO_TEST_CASE(transient_is_what_a_new_transaction_can_mend) {
  idem::error e;
  for (auto a : {idem::advice::never, idem::advice::new_transaction, idem::advice::new_connection,
                 idem::advice::resolve_first}) {
    e.advice = a;
    BOOST_TEST(idem::is_transient(e) == (a == idem::advice::new_transaction));
  }
}

BOOST_AUTO_TEST_CASE(invalid_argument_says_that_nothing_was_sent) {
  auto const e = idem::invalid_argument("why").error();
  BOOST_TEST((e.what == idem::errc::invalid_argument));
  BOOST_TEST((e.certainty == idem::certainty::not_executed));
  BOOST_TEST((e.advice == idem::advice::never));
  BOOST_TEST(e.message == "why");
}

BOOST_AUTO_TEST_CASE(attempts_are_written_and_read) {
  auto const a = idem::attempt_id::random();
  BOOST_TEST(a.to_string().size() == 32);
  BOOST_TEST((idem::attempt_id::parse(a.to_string()) == a));
  BOOST_TEST((idem::attempt_id::random() != a));
  BOOST_TEST((idem::attempt_id::parse("00FFaabbccddeeff0011223344556677")->to_string() ==
              "00ffaabbccddeeff0011223344556677"));
  std::string const good(32, '0');
  for (std::string bad :
       {good.substr(1), good + "0", std::string(), "+1" + good.substr(2), " 1" + good.substr(2),
        "0x" + good.substr(2), good.substr(1) + "g", good.substr(2) + "-1"})
    BOOST_TEST(!idem::attempt_id::parse(bad), bad);
}

BOOST_AUTO_TEST_SUITE_END()
