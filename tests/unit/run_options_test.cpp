// SPDX-License-Identifier: BSL-1.0
// What a caller can say to `run`: bounds, patience, versions, the audit copy.
#include <idem/store.h>
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/support/run_scenarios.h"
#include "tests/support/run_truth.h"
#include "tests/support/scripted_store.h"
#include "tests/support/stub_session.h"

namespace {

using namespace idem_test;
using idem::certainty;
using idem::errc;
using std::chrono::milliseconds;

struct bench {
  explicit bench(flavour f = engine_flavours().front()) : scripted(f), world(std::move(f)) {}

  idem::result<idem::outcome> run(idem::run_options const& options) {
    scripted_source source(world);
    auto const effect = [this](idem::transaction& tx) -> idem::result<idem::answer> {
      ++calls;
      if (auto written = tx.execute("EFFECT ?", {mine}); !written)
        return std::unexpected(written.error());
      return the_response();
    };
    return scripted.store.run(source, the_request(), effect, options);
  }

  scripted_bench scripted;
  scripted_world world;
  int calls = 0;
};

void expect_invalid(idem::run_options const& options, char const* name) {
  bench b;
  auto const r = b.run(options);
  BOOST_REQUIRE_MESSAGE(!r, name);
  BOOST_TEST((r.error().what == errc::invalid_argument), name);
  BOOST_TEST(r.error().message.find(name) != std::string::npos, r.error().message);
  BOOST_TEST(b.world.trace.empty(), "something was sent");
}

template <class Change>
idem::run_options changed(Change change) {
  auto options = quick();
  change(options);
  return options;
}

/// One session, for its status and the limits that it is given.
struct stub_bench {
  stub_bench() {
    session.dialect = make_world().dialect;
    session.answer = [](std::string_view sql) -> stub_session::rows_result {
      if (sql.starts_with("VERSION")) return idem::rows{{{idem::value(std::int64_t{1})}}, 0};
      return idem::rows{{}, 1};
    };
    store.emplace(idem::store::open(session).value());
    session.limits_of.clear();
  }
  static scripted_world& make_world() {
    static scripted_world world(like("mysql"));
    return world;
  }
  static flavour like(std::string const& name) {
    return *std::ranges::find(engine_flavours(), name, &flavour::name);
  }

  stub_session session;
  idem::lone_session source{session};
  std::optional<idem::store> store;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(run_options)

BOOST_AUTO_TEST_CASE(bounds) {
  using idem::run_options;
  expect_invalid(changed([](auto& o) { o.retry.max_attempts = 0; }), "retry.max_attempts");
  expect_invalid(changed([](auto& o) { o.retry.max_attempts = 1001; }), "retry.max_attempts");
  expect_invalid(changed([](auto& o) { o.retry.base_delay = milliseconds(-1); }),
                 "retry.base_delay");
  expect_invalid(changed([](auto& o) { o.retry.base_delay = milliseconds(1); }),
                 "retry.base_delay");
  expect_invalid(changed([](auto& o) { o.retry.max_delay = milliseconds::max(); }),
                 "retry.max_delay");
  expect_invalid(changed([](auto& o) { o.wait_limit = milliseconds(-1); }), "wait_limit");
  expect_invalid(changed([](auto& o) { o.wait_limit = std::chrono::hours(25); }), "wait_limit");
  expect_invalid(changed([](auto& o) { o.write_version = 2; }), "write_version");
}

BOOST_AUTO_TEST_CASE(stopped_before_it_began) {
  bench b;
  std::stop_source stop;
  stop.request_stop();
  auto const r = b.run(changed([&](auto& o) { o.stop = stop.get_token(); }));
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::cancelled));
  BOOST_TEST((r.error().certainty == certainty::not_executed));
  BOOST_TEST(b.world.trace.empty());
}

BOOST_AUTO_TEST_CASE(too_late_before_it_began) {
  bench b;
  auto const r = b.run(changed([](auto& o) { o.deadline = std::chrono::steady_clock::now(); }));
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::deadline_exceeded));
  BOOST_TEST((r.error().certainty == certainty::not_executed));
  BOOST_TEST(b.world.trace.empty());
}

// A stop request at any step: the attempt that is going on is finished, none is begun.
BOOST_AUTO_TEST_CASE(stopped_at_each_step) {
  for (auto const& f : engine_flavours()) {
    for (int at = 1; at < 12; ++at) {
      bench b(f);
      std::stop_source stop;
      b.world.effect_errors = {fault_kind::deadlock};
      b.world.on_step = [&](port_call) {
        if (static_cast<int>(b.world.trace.size()) == at) stop.request_stop();
      };
      auto const r = b.run(changed([&](auto& o) { o.stop = stop.get_token(); }));
      bool const begun_again = b.calls == 2;
      BOOST_TEST(r.has_value() == begun_again, f.name << " at " << at);
      BOOST_TEST(b.world.server.effects.size() == (begun_again ? 1U : 0U));
      if (r) continue;
      BOOST_TEST((r.error().what == errc::cancelled));
      BOOST_TEST((r.error().certainty == certainty::rolled_back));
      BOOST_TEST(r.error().native.code != 0, "the cause is kept");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_long_delay_is_cut_by_the_deadline) {
  bench b;
  b.world.effect_errors = {fault_kind::deadlock};
  auto const r = b.run(changed([](auto& o) {
    o.retry = {5, std::chrono::hours(1), std::chrono::hours(1)};
    o.deadline = std::chrono::steady_clock::now() + milliseconds(20);
  }));
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::deadline_exceeded));
  BOOST_TEST((r.error().certainty == certainty::rolled_back));
  BOOST_TEST(b.calls == 1);
}

BOOST_AUTO_TEST_CASE(no_more_attempts_than_allowed) {
  for (int most : {1, 2, 7}) {
    bench b;
    b.world.effect_errors.assign(20, fault_kind::serialization);
    auto const r = b.run(changed([&](auto& o) { o.retry.max_attempts = most; }));
    BOOST_REQUIRE(!r);
    BOOST_TEST((r.error().what == errc::serialization_failure));
    BOOST_TEST((r.error().certainty == certainty::rolled_back));
    BOOST_TEST(b.calls == most);
  }
}

// The caller's wait limit bounds the claim once, not once for each attempt.
BOOST_AUTO_TEST_CASE(a_claim_that_timed_out_is_not_repeated) {
  for (auto const& f : engine_flavours()) {
    bench b(f);
    auto const holder = *b.world.server.begin();
    b.world.server.claim(holder, the_key(), earlier_record(the_request(), 1, {}));
    auto const r = b.run(quick());
    if (f.facts.claim_wait_names_identity)
      BOOST_TEST((r && std::holds_alternative<idem::in_progress>(*r)), f.name);
    else
      BOOST_TEST((!r && r.error().what == errc::lock_timeout), f.name);
    BOOST_TEST(std::ranges::count(b.world.trace, port_call::begin) == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_new_rule_is_written_where_it_is_asked_for) {
  bench b;
  auto options = quick();
  options.write_version = idem::rehearsal_fingerprint_version;
  BOOST_REQUIRE(b.run(options));
  BOOST_TEST(b.world.server.records[the_key()].version == 65535);
  auto const again = b.run(quick());
  BOOST_TEST((again && std::holds_alternative<idem::replayed>(*again)));
}

BOOST_AUTO_TEST_CASE(the_audit_copy_is_stored_and_compared) {
  bench b;
  auto options = quick();
  BOOST_REQUIRE(b.run(options));
  BOOST_TEST(!b.world.server.records[the_key()].canonical.has_value());
  bench audited;
  options.store_canonical_request = true;
  BOOST_REQUIRE(audited.run(options));
  auto& row = audited.world.server.records[the_key()];
  BOOST_TEST(row.canonical.value() == "content");
  BOOST_TEST(std::holds_alternative<idem::replayed>(audited.run(options).value()));
  row.canonical = "another content of the same digest";
  BOOST_TEST(std::holds_alternative<idem::mismatched>(audited.run(options).value()));
}

BOOST_AUTO_TEST_CASE(a_session_in_use_is_refused) {
  using idem::transaction_status;
  for (auto [status, what] : {std::pair{transaction_status::open, errc::session_not_idle},
                              {transaction_status::failed, errc::session_not_idle},
                              {transaction_status::busy, errc::session_not_idle},
                              {transaction_status::unknown, errc::connection_lost}}) {
    stub_bench b;
    b.session.now = status;
    b.session.calls.clear();
    auto const r = b.store->run(
        b.source, the_request(), [](idem::transaction&) { return the_response(); }, quick());
    BOOST_REQUIRE(!r);
    BOOST_TEST((r.error().certainty == certainty::not_executed));
    BOOST_TEST((b.session.calls == std::vector<std::string>{"status"}), "something was sent");
    if (status == transaction_status::unknown) continue;  // the lone session is lost then
    BOOST_TEST((r.error().what == what));
    // The session stays its owner's: it can be used when it is idle again.
    b.session.now = transaction_status::idle;
    BOOST_TEST(b.source.acquire({}).has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_nested_run_on_the_same_session_is_refused) {
  bench b;
  watched_lone_session lone(b.world);
  std::optional<idem::error> inner;
  auto const r = b.scripted.store.run(
      lone, the_request(),
      [&](idem::transaction&) {
        auto nested = b.scripted.store.run(
            lone, second_request(), [](idem::transaction&) { return the_response(); }, quick());
        if (!nested) inner = nested.error();
        return the_response();
      },
      quick());
  BOOST_TEST((r && std::holds_alternative<idem::executed>(*r)));
  BOOST_REQUIRE(inner.has_value());
  BOOST_TEST((inner->what == errc::session_not_idle));
  BOOST_TEST(!b.world.server.records.contains(second_key()));
}

BOOST_AUTO_TEST_CASE(another_dialect_is_refused) {
  bench b;
  b.world.dialect.name = "another";
  auto const r = b.run(quick());
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::configuration));
  BOOST_TEST((r.error().certainty == certainty::not_executed));
}

BOOST_AUTO_TEST_CASE(the_wait_limit_is_the_claims_alone) {
  stub_bench b;
  auto options = quick();
  options.wait_limit = milliseconds(123);
  options.isolation = idem::isolation::serializable;
  auto const r = b.store->run(
      b.source, the_request(),
      [](idem::transaction& tx) -> idem::result<idem::answer> {
        if (auto done = tx.execute("EFFECT"); !done) return std::unexpected(done.error());
        return the_response();
      },
      options);
  BOOST_TEST((r && std::holds_alternative<idem::executed>(*r)));
  BOOST_TEST((b.session.begun.back().isolation == idem::isolation::serializable));
  BOOST_TEST((b.session.begun.back().limits.wait_limit == milliseconds(123)));
  BOOST_TEST(b.session.limits_of.size() >= 4);
  for (auto const& [sql, limits] : b.session.limits_of)
    BOOST_TEST(limits.wait_limit.has_value() == sql.starts_with("CLAIM"), sql);
}

BOOST_AUTO_TEST_CASE(store_options_are_checked) {
  auto const refused = [](auto change) {
    scripted_world world(engine_flavours().front());
    scripted_session session(world);
    idem::store_options options;
    change(options);
    auto const opened = idem::store::open(session, options);
    BOOST_TEST((!opened && opened.error().what == errc::invalid_argument));
    BOOST_TEST(world.trace.empty());
  };
  refused([](auto& o) { o.max_response_bytes = 0; });
  refused([](auto& o) { o.max_response_bytes = (std::size_t{1} << 30) + 1; });
  refused([](auto& o) { o.retention = std::chrono::seconds(0); });
  refused([](auto& o) { o.retention = std::chrono::hours(24 * 36526); });
  refused([](auto& o) { o.prefix = "a;b"; });
  refused([](auto& o) { o.schema = "a b"; });
}

BOOST_AUTO_TEST_SUITE_END()
