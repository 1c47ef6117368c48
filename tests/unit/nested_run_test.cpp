// SPDX-License-Identifier: BSL-1.0
// An effect that calls `run`, or adopts the transaction that it works in.
#include <idem/memory.h>
#include <idem/schema.h>
#include <idem/store.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <optional>

namespace {

using namespace idem;  // NOLINT(google-build-using-namespace)

request request_of(std::string_view key) {
  return request::from_bytes({"s", "o", key}, "content").value();
}

struct nested {
  std::shared_ptr<memory::database> db = std::make_shared<memory::database>();
  std::unique_ptr<session> keeper = memory::connect(db);
  idem::store store = opened();
  std::optional<result<outcome>> inner;

  idem::store opened() {
    schema::install(*keeper, {}).value();
    return idem::store::open(*keeper).value();
  }
  // The deadline is for a version that waits.
  static run_options bounded() {
    run_options o;
    o.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    return o;
  }
  result<outcome> run_nested(session_source& source) {
    return store.run(source, request_of("outer"), [&](transaction&) {
      inner = store.run(
          source, request_of("inner"), [](transaction&) { return response{200, {}, "inner"}; },
          bounded());
      return response{200, {}, "outer"};
    });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(nested_run, nested)

BOOST_AUTO_TEST_CASE(in_a_pool_that_its_own_callers_hold_it_is_refused_at_once) {
  auto const one = memory::pool(db, 1);
  BOOST_REQUIRE(run_nested(*one));
  BOOST_REQUIRE((inner && !*inner));
  BOOST_TEST(to_string(inner->error().what) == "session_not_idle");
  BOOST_TEST(to_string(inner->error().certainty) == "not_executed");
  BOOST_TEST(db->committed_records() == 1U);
  BOOST_REQUIRE(run_nested(*one));  // the place is free again
}

BOOST_AUTO_TEST_CASE(in_a_pool_with_room_it_runs) {
  auto const two = memory::pool(db, 2);
  BOOST_REQUIRE(run_nested(*two));
  BOOST_REQUIRE((inner && *inner));
  BOOST_TEST(std::holds_alternative<executed>(**inner));
  BOOST_TEST(db->committed_records() == 2U);
}

// Its savepoint would hide the run's own, and going back to it undo too little.
BOOST_AUTO_TEST_CASE(the_transaction_of_an_effect_is_not_adopted) {
  run_options options;
  options.refusals = refusal_policy::store;
  auto const pool = memory::pool(db);
  auto const called = store.run(
      *pool, request_of("outer"),
      [&](transaction& tx) -> result<answer> {
        BOOST_REQUIRE(memory::append(tx, "t", "row"));
        auto adopted = transaction::adopt(tx.session());
        BOOST_TEST(!adopted);
        if (!adopted) BOOST_TEST(to_string(adopted.error().what) == "unsupported");
        if (adopted) BOOST_TEST(store.claim(*adopted, request_of("inner")).has_value());
        return refusal{{402, {}, "no"}};
      },
      options);
  BOOST_REQUIRE(called);
  BOOST_TEST(std::get<refused>(*called).stored);
  BOOST_TEST(db->committed_rows("t").empty());
  BOOST_TEST(db->committed_records() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
