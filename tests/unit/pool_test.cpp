// SPDX-License-Identifier: BSL-1.0
#include <idem/pool.h>
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/stub_session.h"

namespace {

using idem::errc;
using idem::session;
using idem::session_pool;
using idem_test::make_error;
using idem_test::stub_session;
using std::chrono::steady_clock;

/// Counts the sessions that it made and that are still there.
struct workshop {
  struct counted final : stub_session {
    explicit counted(workshop& w) : workshop_(w) { ++workshop_.alive; }
    ~counted() override { --workshop_.alive; }
    workshop& workshop_;
  };

  session_pool::factory factory() {
    return [this](idem::call_limits const&) -> idem::result<std::unique_ptr<session>> {
      ++made;
      return std::make_unique<counted>(*this);
    };
  }

  std::atomic<int> made = 0;
  std::atomic<int> alive = 0;
};

session* take(session_pool& pool) {
  auto s = pool.acquire({});
  BOOST_REQUIRE(s);
  return *s;
}

idem::call_limits until(steady_clock::time_point deadline) {
  idem::call_limits limits;
  limits.deadline = deadline;
  return limits;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pool)

BOOST_AUTO_TEST_CASE(opens_when_needed_and_reuses) {
  workshop w;
  session_pool pool(w.factory(), 3);
  BOOST_TEST(w.made == 0);
  auto* const a = take(pool);
  auto* const b = take(pool);
  BOOST_TEST(w.made == 2);
  pool.release(a, true);
  BOOST_TEST(take(pool) == a);
  BOOST_TEST(w.made == 2);
  pool.release(a, true);
  pool.release(b, true);
}

BOOST_AUTO_TEST_CASE(a_broken_session_is_discarded) {
  workshop w;
  session_pool pool(w.factory(), 1);
  pool.release(take(pool), false);
  BOOST_TEST(w.alive == 0);
  pool.release(take(pool), true);
  BOOST_TEST(w.made == 2);
  BOOST_TEST(w.alive == 1);
}

BOOST_AUTO_TEST_CASE(a_session_that_cannot_be_reset_is_discarded) {
  workshop w;
  session_pool pool(w.factory(), 1);
  auto* const s = take(pool);
  static_cast<stub_session*>(s)->resets = std::unexpected(make_error(errc::connection_lost));
  pool.release(s, true);
  BOOST_TEST(w.alive == 0);
  pool.release(take(pool), true);
  BOOST_TEST(w.made == 2);
}

BOOST_AUTO_TEST_CASE(no_more_than_its_number) {
  workshop w;
  session_pool pool(w.factory(), 2);
  auto* const a = take(pool);
  auto* const b = take(pool);
  auto const none = pool.acquire(until(steady_clock::now()));
  BOOST_REQUIRE(!none);
  BOOST_TEST((none.error().what == errc::resource_exhausted));
  BOOST_TEST((none.error().phase == idem::phase::connect));
  BOOST_TEST(!none.error().message.empty());
  BOOST_TEST(w.made == 2);
  pool.release(a, true);
  BOOST_TEST(pool.acquire(until(steady_clock::now())).has_value());
  pool.release(a, true);
  pool.release(b, true);
}

BOOST_AUTO_TEST_CASE(a_pool_of_none_lends_none) {
  workshop w;
  session_pool pool(w.factory(), 0);
  auto const none = pool.acquire({});
  BOOST_REQUIRE(!none);
  BOOST_TEST((none.error().what == errc::invalid_argument));
  BOOST_TEST(none.error().message.contains("0 sessions"));
  BOOST_TEST(w.made == 0);
}

BOOST_AUTO_TEST_CASE(a_stop_request_ends_the_wait) {
  workshop w;
  session_pool pool(w.factory(), 1);
  auto* const held = take(pool);
  std::stop_source stop;
  idem::call_limits limits;
  limits.stop = stop.get_token();
  std::jthread const other([&stop] { stop.request_stop(); });
  auto const none = pool.acquire(limits);
  BOOST_REQUIRE(!none);
  BOOST_TEST((none.error().what == errc::cancelled));
  pool.release(held, true);
}

BOOST_AUTO_TEST_CASE(a_release_wakes_one_that_waits) {
  for (bool reusable : {true, false}) {
    workshop w;
    session_pool pool(w.factory(), 1);
    auto* const held = take(pool);
    std::atomic<bool> got = false;
    {
      std::jthread const waiting([&] {
        auto s = pool.acquire({});
        got = s.has_value();
        if (s) pool.release(*s, true);
      });
      pool.release(held, reusable);
    }
    BOOST_TEST(got.load());
  }
}

BOOST_AUTO_TEST_CASE(a_factory_that_fails_gives_its_place_back) {
  int calls = 0;
  session_pool pool(
      [&calls](idem::call_limits const&) -> idem::result<std::unique_ptr<session>> {
        if (++calls == 1) return std::unexpected(make_error(errc::connection_failed));
        if (calls == 2) throw std::bad_alloc();
        return std::make_unique<stub_session>();
      },
      1);
  auto const failed = pool.acquire({});
  BOOST_REQUIRE(!failed);
  BOOST_TEST((failed.error().what == errc::connection_failed));
  BOOST_CHECK_THROW((void)pool.acquire({}), std::bad_alloc);
  auto const third = pool.acquire(until(steady_clock::now()));
  BOOST_REQUIRE(third);
  pool.release(*third, true);
}

BOOST_AUTO_TEST_CASE(the_limits_reach_the_factory) {
  auto const deadline = steady_clock::now() + std::chrono::hours(1);
  bool same = false;
  session_pool pool(
      [&](idem::call_limits const& l) -> idem::result<std::unique_ptr<session>> {
        same = l.deadline == deadline;
        return std::make_unique<stub_session>();
      },
      1);
  pool.release(*pool.acquire(until(deadline)), true);
  BOOST_TEST(same);
}

BOOST_AUTO_TEST_CASE(a_foreign_session_is_not_taken_in) {
  workshop w;
  session_pool pool(w.factory(), 1);
  stub_session foreign;
  pool.release(&foreign, true);
  BOOST_TEST(take(pool) != static_cast<session*>(&foreign));
}

// Each lent session has one user, and there are never more than the pool's number.
BOOST_AUTO_TEST_CASE(many_threads_share_it) {
  constexpr int threads = 8;
  constexpr int rounds = 400;
  constexpr int size = 3;
  workshop w;
  std::mutex mutex;
  std::set<session*> in_use;
  std::atomic<int> shared = 0, refused = 0, most = 0;
  {
    session_pool pool(w.factory(), size);
    std::latch start(threads);
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        start.arrive_and_wait();
        for (int i = 0; i < rounds; ++i) {
          auto s = pool.acquire({});
          if (!s) {
            ++refused;
            continue;
          }
          {
            std::scoped_lock const lock(mutex);
            if (!in_use.insert(*s).second) ++shared;
            most = std::max(most.load(), static_cast<int>(in_use.size()));
          }
          {
            std::scoped_lock const lock(mutex);
            in_use.erase(*s);
          }
          pool.release(*s, (i + t) % 5 != 0);
        }
      });
    }
  }
  BOOST_TEST(shared == 0);
  BOOST_TEST(refused == 0);
  BOOST_TEST(most <= size);
  BOOST_TEST(w.alive == 0);
}

BOOST_AUTO_TEST_CASE(a_lease_gives_back_once) {
  workshop w;
  session_pool pool(w.factory(), 1);
  {
    auto lease = idem::session_lease::acquire(pool, {});
    BOOST_REQUIRE(lease);
    idem::session_lease const moved(std::move(*lease));
    BOOST_TEST(!pool.acquire(until(steady_clock::now())));
    BOOST_TEST(&*moved == moved.operator->());
  }
  {
    auto lease = idem::session_lease::acquire(pool, {});
    BOOST_REQUIRE(lease);
    lease->discard();
    BOOST_TEST(w.made == 1);
  }
  BOOST_TEST(w.alive == 0);
}

BOOST_AUTO_TEST_CASE(a_lone_session_has_no_second) {
  stub_session only;
  idem::lone_session lone(only);
  BOOST_TEST(lone.acquire({}).value() == &only);
  auto const nested = lone.acquire({});
  BOOST_REQUIRE(!nested);
  BOOST_TEST((nested.error().what == errc::session_not_idle));
  lone.release(&only, true);
  BOOST_TEST(lone.acquire({}).has_value());
  lone.release(&only, false);
  auto const lost = lone.acquire({});
  BOOST_REQUIRE(!lost);
  BOOST_TEST((lost.error().what == errc::connection_lost));
  BOOST_TEST((lost.error().phase == idem::phase::connect));
}

BOOST_AUTO_TEST_SUITE_END()
