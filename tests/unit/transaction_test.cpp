// SPDX-License-Identifier: BSL-1.0
#include <idem/transaction.h>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/stub_session.h"

namespace {

using idem::advice;
using idem::certainty;
using idem::errc;
using idem::phase;
using idem::transaction;
using idem::transaction_status;
using idem_test::make_error;
using idem_test::stub_session;
using names = std::vector<std::string>;

class destructor_log final : public idem::observer {
 public:
  void on_destructor_failure(std::string_view where, idem::error const&) noexcept override {
    places.emplace_back(where);
  }
  names places;
};

template <class T>
idem::error error_of(idem::result<T> const& r) {
  BOOST_REQUIRE(!r);
  return r.error();
}

void expect_refused(stub_session& s, errc what) {
  auto const refused = error_of(transaction::begin(s));
  BOOST_TEST((refused.what == what));
  BOOST_TEST((refused.phase == phase::preflight));
  BOOST_TEST((refused.certainty == certainty::not_executed));
  BOOST_TEST(!refused.message.empty());
  BOOST_TEST((s.calls == names{"status"}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transaction)

BOOST_AUTO_TEST_CASE(begins_on_an_idle_session_only) {
  for (auto [status, what] : {std::pair{transaction_status::open, errc::session_not_idle},
                              {transaction_status::failed, errc::transaction_aborted},
                              {transaction_status::busy, errc::session_not_idle},
                              {transaction_status::unknown, errc::connection_lost}}) {
    stub_session s;
    s.now = status;
    expect_refused(s, what);
  }
  stub_session s;
  s.now = std::unexpected(make_error(errc::connection_lost, advice::new_connection));
  expect_refused(s, errc::connection_lost);
}

BOOST_AUTO_TEST_CASE(passes_the_options_of_begin_on) {
  stub_session s;
  idem::begin_options options;
  options.isolation = idem::isolation::serializable;
  options.limits.wait_limit = std::chrono::milliseconds(7);
  {
    auto tx = idem::transaction::begin(s, options);
    BOOST_REQUIRE(tx);
    BOOST_TEST(tx->execute("EFFECT").has_value());
  }
  BOOST_REQUIRE(s.begun.size() == 1);
  BOOST_TEST((s.begun[0].isolation == idem::isolation::serializable));
  BOOST_TEST((s.begun[0].limits.wait_limit == std::chrono::milliseconds(7)));
  // The wait is for the begin and does not leak into the statements.
  BOOST_TEST(!s.limits_of.at(0).second.wait_limit.has_value());
}

BOOST_AUTO_TEST_CASE(a_begin_that_fails_leaves_nothing_to_end) {
  stub_session s;
  s.begins = std::unexpected(make_error(errc::lock_timeout, advice::new_transaction));
  auto const e = error_of(idem::transaction::begin(s));
  BOOST_TEST((e.what == errc::lock_timeout && e.phase == phase::begin));
  BOOST_TEST((s.calls == names{"status", "begin"}));
}

BOOST_AUTO_TEST_CASE(adopts_an_open_transaction_only) {
  for (auto [status, what] : {std::pair{transaction_status::idle, errc::transaction_not_open},
                              {transaction_status::failed, errc::transaction_aborted},
                              {transaction_status::busy, errc::session_not_idle},
                              {transaction_status::unknown, errc::connection_lost}}) {
    stub_session s;
    s.now = status;
    BOOST_TEST((error_of(idem::transaction::adopt(s)).what == what));
  }
  stub_session s;
  s.now = transaction_status::open;
  auto const other_level = idem::isolation::serializable;
  BOOST_TEST((error_of(idem::transaction::adopt(s, nullptr, other_level)).what ==
              errc::isolation_mismatch));
  {
    auto tx = idem::transaction::adopt(s);
    BOOST_REQUIRE(tx);
    BOOST_TEST((error_of(tx->commit()).what == errc::unsupported));
    BOOST_TEST((error_of(tx->rollback()).what == errc::unsupported));
    BOOST_TEST(&tx->session() == &s);
  }
  BOOST_TEST((s.calls == names{"status"}), "an adopted transaction is the caller's to end");
}

BOOST_AUTO_TEST_CASE(committed_once) {
  stub_session s;
  {
    auto tx = idem::transaction::begin(s).value();
    BOOST_TEST(tx.commit().has_value());
    BOOST_TEST((error_of(tx.commit()).what == errc::transaction_not_open));
    BOOST_TEST((error_of(tx.execute("EFFECT")).what == errc::transaction_aborted));
    BOOST_TEST(tx.rollback().has_value());
  }
  BOOST_TEST((s.calls == names{"status", "begin", "commit"}));
}

BOOST_AUTO_TEST_CASE(rolled_back_unless_committed) {
  stub_session s;
  {
    auto const tx = idem::transaction::begin(s).value();
  }
  BOOST_TEST((s.calls == names{"status", "begin", "rollback"}));
}

BOOST_AUTO_TEST_CASE(rolled_back_once) {
  stub_session s;
  {
    auto tx = idem::transaction::begin(s).value();
    BOOST_TEST(tx.rollback().has_value());
    BOOST_TEST(tx.rollback().has_value());
    BOOST_TEST((error_of(tx.commit()).what == errc::transaction_not_open));
  }
  BOOST_TEST((s.calls == names{"status", "begin", "rollback"}));
}

BOOST_AUTO_TEST_CASE(moved_it_is_ended_once) {
  stub_session first;
  stub_session second;
  {
    auto a = idem::transaction::begin(first).value();
    auto b = std::move(a);
    auto c = idem::transaction::begin(second).value();
    c = std::move(b);  // what c held is rolled back
    BOOST_TEST((second.calls == names{"status", "begin", "rollback"}));
    BOOST_TEST(&c.session() == &first);
  }
  BOOST_TEST((first.calls == names{"status", "begin", "rollback"}));
}

BOOST_AUTO_TEST_CASE(a_rollback_that_fails_is_reported) {
  stub_session s;
  s.rolls_back = std::unexpected(make_error(errc::connection_lost, advice::new_connection));
  destructor_log log;
  {
    auto const tx = idem::transaction::begin(s, {}, &log).value();
  }
  BOOST_TEST((log.places == names{"transaction"}));
  s.now = transaction_status::idle;
  auto tx = idem::transaction::begin(s, {}, &log).value();
  auto const e = error_of(tx.rollback());
  BOOST_TEST((e.what == errc::connection_lost && e.phase == phase::rollback));
}

BOOST_AUTO_TEST_CASE(a_statement_error_is_of_the_effect) {
  stub_session s;
  s.answer = [](auto) -> stub_session::rows_result {
    auto e = make_error(errc::unique_violation);
    e.native = {"23505", 1062, "server text"};
    return std::unexpected(e);
  };
  auto tx = idem::transaction::begin(s).value();
  auto const e = error_of(tx.execute("EFFECT"));
  BOOST_TEST((e.what == errc::unique_violation && e.phase == phase::effect));
  BOOST_TEST((e.certainty == certainty::rolled_back));
  BOOST_TEST((e.native == idem::native_error{"23505", 1062, "server text"}));
  BOOST_TEST(tx.commit().has_value());  // the caller may go on after a final error
}

BOOST_AUTO_TEST_CASE(a_swallowed_transient_error_cannot_be_committed) {
  for (auto next : {advice::new_transaction, advice::new_connection}) {
    stub_session s;
    s.answer = [next](auto) -> stub_session::rows_result {
      return std::unexpected(make_error(errc::lock_timeout, next));
    };
    auto tx = idem::transaction::begin(s).value();
    (void)tx.execute("EFFECT");
    auto const e = error_of(tx.commit());
    BOOST_TEST((e.what == errc::lock_timeout && e.phase == phase::commit));
    BOOST_TEST((e.certainty == certainty::rolled_back));
    BOOST_TEST((e.advice == next));
    BOOST_TEST(s.calls.back() == "rollback");
  }
}

BOOST_AUTO_TEST_CASE(a_commit_that_fails_is_rolled_back) {
  stub_session s;
  s.commits = std::unexpected(
      make_error(errc::serialization_failure, advice::new_transaction, certainty::rolled_back));
  auto tx = idem::transaction::begin(s).value();
  auto const e = error_of(tx.commit());
  BOOST_TEST((e.what == errc::serialization_failure && e.phase == phase::commit));
  BOOST_TEST((e.certainty == certainty::rolled_back));
  BOOST_TEST((e.advice == advice::new_transaction));
  BOOST_TEST((s.calls == names{"status", "begin", "commit", "rollback"}));
}

BOOST_AUTO_TEST_CASE(a_commit_without_an_answer_is_in_doubt) {
  stub_session s;
  s.commits = std::unexpected(
      make_error(errc::connection_lost, advice::new_connection, certainty::in_doubt));
  s.rolls_back = std::unexpected(make_error(errc::connection_lost, advice::new_connection));
  destructor_log log;
  auto tx = idem::transaction::begin(s, {}, &log).value();
  auto const e = error_of(tx.commit());
  BOOST_TEST((e.what == errc::commit_in_doubt));
  BOOST_TEST((e.certainty == certainty::in_doubt));
  BOOST_TEST((e.advice == advice::resolve_first));
  BOOST_TEST(log.places.size() == 1);
}

// Where the handle can commit, what ended the transaction may have committed it.
BOOST_AUTO_TEST_CASE(a_commit_of_a_replaced_transaction) {
  for (bool guards : {true, false}) {
    stub_session s;
    s.guards = guards;
    s.commits = std::unexpected(
        make_error(errc::transaction_replaced, advice::never, certainty::rolled_back));
    auto tx = idem::transaction::begin(s).value();
    auto const e = error_of(tx.commit());
    BOOST_TEST((e.what == errc::transaction_replaced));
    BOOST_TEST((e.certainty == (guards ? certainty::rolled_back : certainty::in_doubt)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
