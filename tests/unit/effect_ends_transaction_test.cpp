// SPDX-License-Identifier: BSL-1.0
// An effect that committed by means of its own and then says that it failed: nobody may be told
// that nothing of it stays.
#include <idem/memory.h>
#include <idem/schema.h>
#include <idem/store.h>

#include <boost/test/unit_test.hpp>

namespace {

using namespace idem;  // NOLINT(google-build-using-namespace)

request the_request() { return request::from_bytes({"s", "o", "k"}, "content").value(); }

error own_error(advice next) {
  error e;
  e.message = "the effect's own";
  e.advice = next;
  return e;
}

run_options attempts(int count) {
  run_options o;
  o.retry.max_attempts = count;
  return o;
}

struct memory_world {
  std::shared_ptr<memory::database> db = std::make_shared<memory::database>();
  std::unique_ptr<session> s = memory::connect(db);
  lone_session source{*s};
  idem::store store = opened();

  idem::store opened() {
    schema::install(*s, {}).value();
    return idem::store::open(*s).value();
  }
  error run_committing(int most_attempts, advice next, bool goes_on) {
    auto const effect = [&](transaction& tx) -> result<answer> {
      BOOST_REQUIRE(memory::append(tx, "t", "row"));
      BOOST_REQUIRE(tx.execute("COMMIT"));
      if (goes_on) BOOST_TEST(!memory::append(tx, "t", "after"));
      return std::unexpected(own_error(next));
    };
    auto called = store.run(source, the_request(), effect, attempts(most_attempts));
    BOOST_REQUIRE(!called);
    BOOST_TEST(db->committed_rows("t").size() == 1U);
    return called.error();
  }
};

void is_in_doubt(error const& e) {
  BOOST_TEST(to_string(e.certainty) == "in_doubt");
  BOOST_TEST(to_string(e.advice) == "resolve_first");
  BOOST_TEST(e.attempts.size() == 1U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(effect_ends_transaction)

BOOST_AUTO_TEST_CASE(a_refused_statement_after_the_commit_did_not_end_it) {
  is_in_doubt(memory_world{}.run_committing(1, advice::never, true));
}

BOOST_AUTO_TEST_CASE(a_transient_error_that_is_the_last_is_in_doubt) {
  is_in_doubt(memory_world{}.run_committing(1, advice::new_transaction, false));
  is_in_doubt(memory_world{}.run_committing(1, advice::new_transaction, true));
}

BOOST_AUTO_TEST_CASE(a_transient_error_that_is_not_the_last_is_found_out) {
  auto const e = memory_world{}.run_committing(3, advice::new_transaction, false);
  BOOST_TEST(to_string(e.what) == "incomplete");
  is_in_doubt(e);
}

BOOST_AUTO_TEST_CASE(a_transient_error_of_a_transaction_that_is_open_is_certain) {
  memory_world w;
  auto const effect = [&](transaction& tx) -> result<answer> {
    BOOST_REQUIRE(memory::append(tx, "t", "row"));
    return std::unexpected(own_error(advice::new_transaction));
  };
  auto const called = w.store.run(w.source, the_request(), effect, attempts(2));
  BOOST_REQUIRE(!called);
  BOOST_TEST(to_string(called.error().certainty) == "rolled_back");
  BOOST_TEST(w.db->committed_rows("t").empty());
}

BOOST_AUTO_TEST_SUITE_END()
