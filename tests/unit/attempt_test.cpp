// SPDX-License-Identifier: BSL-1.0
#include <idem/attempt.h>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(attempt)

BOOST_AUTO_TEST_CASE(how_it_travels_is_kept_in_its_text) {
  for (int i = 0; i < 100; ++i) {
    auto const whole = idem::attempt_id::random(true);
    auto const in_turn = idem::attempt_id::random();
    BOOST_TEST(whole.travels_whole());
    BOOST_TEST(!in_turn.travels_whole());
    BOOST_TEST((idem::attempt_id::parse(whole.to_string()) == whole));
    BOOST_TEST((idem::attempt_id::parse(in_turn.to_string()) == in_turn));
  }
}

BOOST_AUTO_TEST_CASE(another_text_is_none) {
  BOOST_TEST(!idem::attempt_id::parse(""));
  BOOST_TEST(!idem::attempt_id::parse(std::string(31, 'a')));
  BOOST_TEST(!idem::attempt_id::parse(std::string(31, 'a') + "g"));
}

BOOST_AUTO_TEST_SUITE_END()
