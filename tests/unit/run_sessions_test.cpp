// SPDX-License-Identifier: BSL-1.0
// Dead sessions cost no attempt; the last attempt's doubt is looked at; a check that fails says
// why.
#include <idem/memory.h>
#include <idem/schema.h>
#include <idem/store.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/support/run_scenarios.h"
#include "tests/support/scripted_store.h"
#include "tests/support/sqlite_database.h"

namespace {

using namespace idem_test;
using idem::certainty;
using idem::errc;
using idem::outcome;
using idem::result;

struct small_source final : idem::session_source {
  small_source(scripted_world& w, std::size_t most) : all(w), most_sessions(most) {}
  result<idem::session*> acquire(idem::call_limits const& l) override { return all.acquire(l); }
  void release(idem::session* s, bool reusable) noexcept override { all.release(s, reusable); }
  std::size_t capacity() const noexcept override { return most_sessions; }
  scripted_source all;
  std::size_t most_sessions;
};

struct bench {
  explicit bench(flavour f) : scripted(f), world(std::move(f)) {}

  result<outcome> run_once(effect_script script, std::size_t sessions = 16) {
    small_source source(world, sessions);
    auto options = quick();
    options.retry.max_attempts = 1;
    auto const effect = [&](idem::transaction& tx) -> result<idem::answer> {
      return script({world, scripted.store, tx, ++calls});
    };
    return scripted.store.run(source, the_request(), effect, options);
  }
  int count(port_call c) const { return static_cast<int>(std::ranges::count(world.trace, c)); }

  scripted_bench scripted;
  scripted_world world;
  int calls = 0;
};

result<idem::answer> succeed(play const& p) {
  if (auto written = p.write(); !written) return std::unexpected(written.error());
  return the_response();
}

result<idem::answer> commit_and_begin(play const& p) {
  auto done = succeed(p);
  if (p.handle().native_commit()) p.handle().native_begin();
  return done;
}

// Where in a run without a fault the call is made, from 1.
int step_of(flavour const& f, effect_script script, port_call wanted) {
  bench b(f);
  (void)b.run_once(script);
  auto const at = std::ranges::find(b.world.trace, wanted);
  BOOST_REQUIRE((at != b.world.trace.end()));
  return static_cast<int>(at - b.world.trace.begin()) + 1;
}

port_call commit_call(flavour const& f) {
  return f.facts.save_fails_in_server ? port_call::save_commit : port_call::commit;
}

void every_status_unknown(scripted_world& w, int until) {
  for (int i = 1; i <= until; ++i)
    w.plan.push_back({i, {fault_kind::status_unknown, 0, waited_for::lands}});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_sessions)

BOOST_AUTO_TEST_CASE(sessions_that_were_dead_before_cost_no_attempt) {
  for (auto const& f : engine_flavours()) {
    bench b(f);
    every_status_unknown(b.world, 10);  // acquire and status, five times
    auto const r = b.run_once(succeed);
    BOOST_TEST((r && std::holds_alternative<idem::executed>(*r)), f.name);
    BOOST_TEST(b.world.fired[static_cast<std::size_t>(fault_kind::status_unknown)] == 5, f.name);
    BOOST_TEST(b.calls == 1);
  }
}

BOOST_AUTO_TEST_CASE(no_more_dead_sessions_than_a_pool_can_hold) {
  bench b(engine_flavours().front());
  every_status_unknown(b.world, 1000);
  auto const r = b.run_once(succeed, 3);
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::connection_lost));
  BOOST_TEST((r.error().certainty == certainty::not_executed));
  BOOST_TEST(b.count(port_call::acquire) == 4);
}

BOOST_AUTO_TEST_CASE(the_doubt_of_the_last_attempt_is_looked_at) {
  for (auto const& f : engine_flavours()) {
    int const at = step_of(f, succeed, commit_call(f));
    bench landed(f);
    landed.world.plan = {{at, {fault_kind::commit_unanswered, 0, waited_for::lands}}};
    auto const yes = landed.run_once(succeed);
    BOOST_TEST((yes && std::holds_alternative<idem::executed>(*yes)), f.name);
    BOOST_TEST(landed.calls == 1);
    if (!f.facts.claim_proves_absence) continue;
    bench lost(f);
    lost.world.plan = {{at, {fault_kind::commit_not_reached, 0, waited_for::lands}}};
    auto const no = lost.run_once(succeed);
    BOOST_REQUIRE(!no);
    BOOST_TEST((no.error().certainty == certainty::rolled_back), f.name);
    BOOST_TEST((no.error().what == errc::connection_lost), f.name);
    BOOST_TEST(no.error().attempts.empty());
    BOOST_TEST(lost.calls == 1);
    BOOST_TEST(lost.world.server.effects.empty());
  }
}

// The look itself is in vain: the doubt stays.
BOOST_AUTO_TEST_CASE(a_last_look_that_fails_leaves_the_doubt) {
  auto const& f = engine_flavours().front();
  int const at = step_of(f, succeed, commit_call(f));
  bench b(f);
  b.world.plan = {{at, {fault_kind::commit_unanswered, 0, waited_for::lands}}};
  for (int i = at + 1; i < at + 100; ++i)
    b.world.plan.push_back({i, {fault_kind::lost_before, 0, waited_for::lands}});
  auto const r = b.run_once(succeed);
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().what == errc::commit_in_doubt));
  BOOST_TEST(r.error().attempts.size() == 1U);
}

// The save met no row of its transaction; whether that is the claim's cannot be asked any more.
BOOST_AUTO_TEST_CASE(a_check_of_the_save_that_fails_is_told_as_what_it_is) {
  int flavours = 0;
  for (auto const& f : engine_flavours()) {
    if (f.facts.witness != idem::transaction_witness::save) continue;
    ++flavours;
    int const at =
        step_of(f, commit_and_begin,
                f.facts.save_fails_in_server ? port_call::save_commit : port_call::execute);
    BOOST_REQUIRE(f.facts.save_fails_in_server);
    for (auto const& [fault, what] :
         {std::pair(fault_kind::lost_before, errc::connection_lost),
          std::pair(fault_kind::out_of_time, errc::deadline_exceeded)}) {
      bench b(f);
      b.world.plan = {{at + 1, {fault, 0, waited_for::lands}}};
      auto const r = b.run_once(commit_and_begin);
      BOOST_REQUIRE(!r);
      BOOST_TEST(to_string(r.error().what) == to_string(what));
      BOOST_TEST((r.error().certainty == certainty::in_doubt));
      BOOST_TEST(r.error().attempts.size() == 1U);
    }
  }
  BOOST_TEST(flavours > 0);
}

BOOST_AUTO_TEST_CASE(what_an_effect_throws_after_its_own_commit_is_no_plain_exception) {
  auto const shared = std::make_shared<idem::memory::database>();
  auto const s = idem::memory::connect(shared);
  BOOST_REQUIRE(idem::schema::install(*s, {}));
  auto const store = idem::store::open(*s).value();
  idem::lone_session source(*s);
  auto const call = [&](bool commits) {
    return store.run(source, the_request(), [&](idem::transaction& tx) -> idem::response {
      BOOST_REQUIRE(idem::memory::append(tx, "t", "row"));
      if (commits) BOOST_REQUIRE(tx.execute("COMMIT"));
      throw std::runtime_error("its words");
    });
  };
  BOOST_CHECK_THROW((void)call(false), std::runtime_error);
  BOOST_TEST(shared->committed_rows("t").empty());
  auto const r = call(true);
  BOOST_REQUIRE(!r);
  BOOST_TEST(to_string(r.error().what) == "transaction_replaced");
  BOOST_TEST(to_string(r.error().certainty) == "in_doubt");
  BOOST_TEST(r.error().native.message == "its words");
  BOOST_TEST(describe(r.error()).find("its words") == std::string::npos);
  BOOST_TEST(shared->committed_rows("t").size() == 1U);
}

// A savepoint of the effect does not stand in for idem's, whatever plain name it has.
BOOST_AUTO_TEST_CASE(a_savepoint_of_the_effect_is_not_taken_for_the_claims) {
  auto const s = open_sqlite("sqlite::memory:");
  BOOST_REQUIRE(idem::schema::install(*s, {}));
  run(*s, "CREATE TABLE t (x)");
  auto const store = idem::store::open(*s).value();
  idem::lone_session source(*s);
  for (auto const* name : {"idem", "idem_claim", "idem_effect", "idem_guard", "claim"}) {
    idem::run_options options;
    options.refusals = idem::refusal_policy::store;
    auto const asked = idem::request::from_bytes({"s", "o", name}, "c").value();
    auto const r = store.run(
        source, asked,
        [&](idem::transaction& tx) -> idem::refusal {
          BOOST_REQUIRE(tx.execute("INSERT INTO t VALUES (1)"));
          BOOST_REQUIRE(tx.execute(std::string("SAVEPOINT ") + name));
          return {{402, {}, "no"}};
        },
        options);
    BOOST_TEST((r && std::get<idem::refused>(*r).stored), name);
    BOOST_TEST(number(*s, "SELECT count(*) FROM t") == 0, name);
  }
}

BOOST_AUTO_TEST_CASE(a_run_inside_a_run_on_one_sqlite_file_is_refused_at_once) {
  temporary_folder const folder;
  auto const url = "sqlite:" + (folder / "one.db");
  auto const outer = open_sqlite(url);
  auto const inner = open_sqlite(url);
  auto const elsewhere = open_sqlite("sqlite:" + (folder / "two.db"));
  BOOST_REQUIRE(idem::schema::install(*outer, {}));
  BOOST_REQUIRE(idem::schema::install(*elsewhere, {}));
  auto const store = idem::store::open(*outer).value();
  idem::lone_session around(*outer);
  idem::lone_session within(*inner);
  idem::lone_session beside(*elsewhere);
  auto const ask = [](char const* key) {
    return idem::request::from_bytes({"s", "o", key}, "c").value();
  };
  auto const plain = [](idem::transaction&) { return idem::response{200, {}, "r"}; };
  BOOST_REQUIRE(store.run(around, ask("known"), plain));
  auto const begun = std::chrono::steady_clock::now();
  auto const called = store.run(around, ask("outer"), [&](idem::transaction& tx) {
    auto const refused = store.run(within, ask("inner"), plain);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(to_string(refused.error().what) == "session_not_idle");
    BOOST_TEST(to_string(refused.error().certainty) == "not_executed");
    auto const known = store.run(within, ask("known"), plain);  // needs no writer's place
    BOOST_TEST((known && std::holds_alternative<idem::replayed>(*known)));
    BOOST_TEST(store.run(beside, ask("inner"), plain).has_value());
    return plain(tx);
  });
  BOOST_TEST(called.has_value());
  BOOST_TEST((std::chrono::steady_clock::now() - begun < std::chrono::seconds(4)));
  BOOST_TEST(store.run(within, ask("inner"), plain).has_value());  // the place is free again
}

BOOST_AUTO_TEST_SUITE_END()
