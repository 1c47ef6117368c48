// SPDX-License-Identifier: BSL-1.0
#include <idem/retry.h>
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <thread>

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto forever = steady_clock::time_point::max();

}  // namespace

BOOST_AUTO_TEST_SUITE(retry)

BOOST_AUTO_TEST_CASE(delays_double_up_to_the_most) {
  idem::retry_policy const policy{1000, milliseconds(5), milliseconds(1000)};
  std::minstd_rand random(1);
  for (int attempt = 1; attempt <= 1000; ++attempt) {
    auto const whole = milliseconds(std::min<std::int64_t>(5LL << std::min(attempt - 1, 40), 1000));
    std::set<milliseconds> seen;
    for (int i = 0; i < 20; ++i) {
      auto const delay = idem::backoff_delay(policy, attempt, random);
      if (delay < whole / 2 || delay > whole) BOOST_ERROR("attempt " << attempt);
      seen.insert(delay);
    }
    if (attempt > 3) BOOST_TEST(seen.size() > 1, "no jitter at attempt " << attempt);
  }
}

BOOST_AUTO_TEST_CASE(no_delay_where_none_is_wanted) {
  std::minstd_rand random(1);
  for (int attempt : {1, 2, 1000}) {
    BOOST_TEST((idem::backoff_delay({10, milliseconds(0), milliseconds(0)}, attempt, random) ==
                milliseconds(0)));
    BOOST_TEST((idem::backoff_delay({10, milliseconds(0), milliseconds(9)}, attempt, random) ==
                milliseconds(0)));
  }
}

BOOST_AUTO_TEST_CASE(the_most_bounds_the_first_delay_too) {
  std::minstd_rand random(1);
  for (int i = 0; i < 100; ++i)
    BOOST_TEST((idem::backoff_delay({10, milliseconds(7), milliseconds(7)}, 5, random) <=
                milliseconds(7)));
}

BOOST_AUTO_TEST_CASE(waits_as_long_as_it_is_told) {
  auto const start = steady_clock::now();
  BOOST_TEST(idem::wait_for(milliseconds(3), forever, {}));
  BOOST_TEST((steady_clock::now() - start >= milliseconds(3)));
  BOOST_TEST(idem::wait_for(milliseconds(0), forever, {}));
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_it_early) {
  auto const deadline = steady_clock::now() + milliseconds(2);
  BOOST_TEST(!idem::wait_for(std::chrono::hours(1), deadline, {}));
  BOOST_TEST((steady_clock::now() >= deadline));
  BOOST_TEST(!idem::wait_for(milliseconds(1), steady_clock::now(), {}));
  BOOST_TEST(!idem::wait_for(milliseconds(1), steady_clock::time_point::min(), {}));
}

BOOST_AUTO_TEST_CASE(a_stop_request_ends_it_early) {
  std::stop_source stop;
  std::jthread const other([&stop] { stop.request_stop(); });
  BOOST_TEST(!idem::wait_for(std::chrono::hours(1), forever, stop.get_token()));
  BOOST_TEST(!idem::wait_for(milliseconds(0), forever, stop.get_token()));
}

BOOST_AUTO_TEST_SUITE_END()
