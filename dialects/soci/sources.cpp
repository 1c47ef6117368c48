// SPDX-License-Identifier: BSL-1.0
// Where the sessions come from: a pool of SOCI's, or one session.
#include <soci/soci.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "dialects/soci/session_impl.h"

namespace idem::inline v1::soci {

namespace {

using detail::make_session;
using detail::refuse;
using detail::soci_session;
using std::chrono::milliseconds;

// SOCI's pool waits deaf to a stop token, so it is asked again and again where there is one.
constexpr milliseconds longest_wait{60'000};
constexpr milliseconds deaf_wait{20};

result<> reconnect(::soci::session& sql) {
  try {
    sql.reconnect();
    return {};
  } catch (std::exception const& thrown) {
    auto failed = refuse(errc::connection_failed, phase::connect, advice::new_connection,
                         "SOCI cannot connect a session of the pool: each must have been opened "
                         "once, and its server be there");
    failed.error().native.message = thrown.what();
    return failed;
  }
}

bool is_idle(soci_session& s) {
  auto const now = s.status();
  return now && *now == transaction_status::idle;
}

// A session as the pool lent it: whatever its last user left.
result<std::unique_ptr<soci_session>> cleaned(::soci::session& sql) {
  if (sql.get_backend() != nullptr) {
    auto made = make_session(sql);
    if (!made) return made;
    if (is_idle(**made) || ((*made)->rollback() && is_idle(**made))) return made;
  }
  if (auto connected = reconnect(sql); !connected)
    return std::unexpected(std::move(connected).error());
  return make_session(sql);
}

result<std::size_t> lease(::soci::connection_pool& pool, call_limits const& limits) {
  auto const slice = limits.stop.stop_possible() ? deaf_wait : longest_wait;
  for (;;) {
    if (limits.stop.stop_requested())
      return refuse(errc::cancelled, phase::connect, advice::never,
                    "stopped while waiting for a session of the pool");
    auto const now = std::chrono::steady_clock::now();
    milliseconds left{0};
    if (limits.deadline > now)
      left = limits.deadline - now > slice ? slice
                                           : std::chrono::ceil<milliseconds>(limits.deadline - now);
    std::size_t position = 0;
    if (pool.try_lease(position, static_cast<int>(left.count()))) return position;
    if (std::chrono::steady_clock::now() >= limits.deadline)
      return refuse(errc::resource_exhausted, phase::connect, advice::never,
                    "no session of the pool became free before the deadline: enlarge the pool");
  }
}

}  // namespace

struct pool_source::state {
  struct loan {
    std::unique_ptr<soci_session> session;
    std::size_t position;
  };
  ::soci::connection_pool* pool;
  std::mutex mutex;
  std::vector<loan> loans;

  result<session*> lend(std::size_t position) {
    auto made = cleaned(pool->at(position));
    if (!made) return std::unexpected(std::move(made).error());
    std::scoped_lock const lock(mutex);
    loans.push_back({std::move(*made), position});
    return loans.back().session.get();
  }

  loan take(session* s) {
    std::scoped_lock const lock(mutex);
    auto const found =
        std::ranges::find_if(loans, [s](auto& one) { return one.session.get() == s; });
    if (found == loans.end()) return {nullptr, 0};
    loan taken = std::move(*found);
    loans.erase(found);
    return taken;
  }
};

pool_source::pool_source(::soci::connection_pool& pool) : state_(std::make_unique<state>()) {
  state_->pool = &pool;
}

pool_source::~pool_source() = default;

result<session*> pool_source::acquire(call_limits const& limits) try {
  auto position = lease(*state_->pool, limits);
  if (!position) return std::unexpected(std::move(position).error());
  try {
    auto lent = state_->lend(*position);
    if (!lent) state_->pool->give_back(*position);
    return lent;
  } catch (...) {
    state_->pool->give_back(*position);
    throw;
  }
} catch (::soci::soci_error const& thrown) {
  auto failed = refuse(errc::resource_exhausted, phase::connect, advice::never,
                       "SOCI's pool gives no session");
  failed.error().native.message = thrown.what();
  return failed;
}

void pool_source::release(session* s, bool reusable) noexcept try {
  auto loan = state_->take(s);
  if (!loan.session) return;
  auto& one = *loan.session;
  bool const clean = reusable && !one.cancelled() && one.rollback() && is_idle(one);
  loan.session.reset();  // before SOCI closes what it is on
  // One that cannot be connected now is tried again when it is lent again.
  if (!clean) static_cast<void>(reconnect(state_->pool->at(loan.position)));
  state_->pool->give_back(loan.position);
} catch (...) {
  return;  // no memory, or no such position: nobody to tell
}

struct lone_source::state {
  ::soci::session* sql;
  std::unique_ptr<soci_session> lent;
  std::atomic<bool> out = false;
  std::uint64_t connection = 0;  ///< that `lent` began with
  std::uint64_t broken = 0;      ///< the one that was discarded
};

lone_source::lone_source(::soci::session& sql) : state_(std::make_unique<state>()) {
  state_->sql = &sql;
}

lone_source::~lone_source() = default;

result<session*> lone_source::acquire(call_limits const&) {
  if (state_->out.exchange(true))
    return refuse(errc::session_not_idle, phase::connect, advice::never,
                  "the session is in use by another run: give a nested run a session of its own");
  auto made = make_session(*state_->sql);
  if (!made) {
    state_->out = false;
    return std::unexpected(std::move(made).error());
  }
  auto const now = (*made)->status();
  bool const lost = now && *now == transaction_status::unknown;
  state_->connection = (*made)->incarnation();
  if (lost || (state_->broken != 0 && state_->broken == state_->connection)) {
    made->reset();
    state_->out = false;
    return refuse(errc::connection_lost, phase::connect, advice::never,
                  "the session's connection is not usable and there is no second one: reconnect "
                  "it, or use a pool");
  }
  state_->lent = std::move(*made);
  return state_->lent.get();
}

void lone_source::release(session*, bool reusable) noexcept {
  if (!state_->lent) return;
  state_->broken = reusable ? 0 : state_->connection;
  state_->lent.reset();  // a transaction that the caller has open stays as it is
  state_->out = false;
}

result<std::unique_ptr<session>> connect(std::string_view url, call_limits const& limits) {
  auto const* e = detail::find_engine(&detail::engine::scheme, url.substr(0, url.find(':')));
  if (e != nullptr) return e->connect(url, limits);
  return refuse(errc::configuration, phase::connect, advice::never,
                "this build takes no such URL with SOCI: write sqlite+soci: or postgresql+soci: "
                "and build with that engine");
}

}  // namespace idem::inline v1::soci
