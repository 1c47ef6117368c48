// SPDX-License-Identifier: BSL-1.0
// The in-memory engine as a session shows it: locks, visibility, faults, its few statements.
#include <idem/memory.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <thread>

#include "tests/support/memory_world.h"

using namespace idem_tests;

BOOST_AUTO_TEST_SUITE(memory_session)

BOOST_AUTO_TEST_CASE(schema_is_installed_once_and_verified) {
  auto const db = std::make_shared<mem::database>();
  auto const s = mem::connect(db);
  BOOST_TEST(must(schema::installed_version(*s, {})) == 0);
  BOOST_TEST((store::open(*s).error().what == errc::schema_missing));
  BOOST_TEST(!must(schema::verify(*s, {})).empty());
  must(schema::install(*s, {}));
  must(schema::install(*s, {}));
  BOOST_TEST(must(schema::installed_version(*s, {})) == 1);
  BOOST_TEST(must(schema::verify(*s, {})).empty());
  BOOST_TEST(must(schema::installed_version(*s, {"main", "other_"})) == 0);
  BOOST_TEST((schema::install(*s, {"main", "a b"}).error().what == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(takes_no_sql) {
  world w;
  auto const answered = w.idem().run(*w.sessions, make_request("k"), [](transaction& tx) {
    auto const refused = tx.execute("INSERT INTO t VALUES (1)");
    BOOST_TEST((refused.error().what == errc::statement_failed));
    BOOST_TEST(refused.error().message.starts_with("the in-memory engine takes no SQL"));
    BOOST_TEST((tx.execute("APPEND", {"t"}).error().what == errc::statement_failed));
    return ok();
  });
  get<executed>(answered);
}

BOOST_AUTO_TEST_CASE(stores_of_other_prefixes_share_nothing) {
  world w;
  auto const s = mem::connect(w.db);
  must(schema::install(*s, {"main", "other_"}));
  store_options options;
  options.prefix = "other_";
  auto const other = must(store::open(*s, options));
  get<executed>(w.debit("k"));
  get<executed>(other.run(*w.sessions, make_request("k"), world::debit_effect("k")));
  BOOST_TEST(w.db->committed_records() == 2u);
}

BOOST_AUTO_TEST_CASE(victim_can_only_roll_back) {
  world w;
  auto const first = mem::connect(w.db);
  auto const second = mem::connect(w.db);
  auto one = must(transaction::begin(*first));
  auto two = must(transaction::begin(*second));
  must(mem::add(one, "x", 1));
  must(mem::add(two, "y", 1));
  result<std::int64_t> waited = 0;
  std::jthread other([&] { waited = mem::add(one, "y", 1); });
  await([&] { return mem::waiting(*first); });
  BOOST_TEST((mem::add(two, "x", 1).error().what == errc::deadlock));
  other.join();  // before the victim rolls back: its locks are gone already
  BOOST_TEST(must(waited) == 1);
  BOOST_TEST((mem::append(two, "t", "r").error().what == errc::transaction_aborted));
  BOOST_TEST((two.session().pending_error()->what == errc::deadlock));
  auto const committed = second->commit({}, {});
  BOOST_TEST((committed.error().what == errc::transaction_aborted));
  BOOST_TEST((committed.error().certainty == certainty::rolled_back));
  BOOST_TEST((must(second->status()) == transaction_status::idle));
  must(one.commit());
  BOOST_TEST(w.db->committed_counter("y") == 1);
}

BOOST_AUTO_TEST_CASE(savepoints_nest_and_undo) {
  world w;
  auto const s = mem::connect(w.db);
  auto tx = must(transaction::begin(*s));
  must(mem::append(tx, "t", "a"));
  must(tx.execute("SAVEPOINT p"));
  must(mem::append(tx, "t", "b"));
  must(tx.execute("SAVEPOINT p"));
  must(mem::append(tx, "t", "c"));
  BOOST_TEST(must(mem::rows_of(tx, "t")).size() == 3u);
  must(tx.execute("ROLLBACK TO p"));
  BOOST_TEST(must(mem::rows_of(tx, "t")).size() == 2u);
  must(tx.execute("RELEASE p"));
  must(tx.execute("ROLLBACK TO p"));
  BOOST_TEST(must(mem::rows_of(tx, "t")).size() == 1u);
  BOOST_TEST((tx.execute("RELEASE q").error().what == errc::statement_failed));
  BOOST_TEST(w.db->committed_rows("t").empty());
  must(tx.commit());
  BOOST_TEST(w.db->committed_rows("t").size() == 1u);
}

BOOST_AUTO_TEST_CASE(readers_see_committed_rows_and_their_own) {
  world w;
  auto const writer = mem::connect(w.db);
  auto const reader = mem::connect(w.db);
  auto tx = must(transaction::begin(*writer));
  must(mem::append(tx, "t", "r"));
  BOOST_TEST(must(mem::add(tx, "c", 3)) == 3);
  BOOST_TEST(must(mem::rows_of(*writer, "t")).size() == 1u);
  BOOST_TEST(must(mem::counter_of(*writer, "c")) == 3);
  BOOST_TEST(must(mem::rows_of(*reader, "t")).empty());
  BOOST_TEST(must(mem::counter_of(*reader, "c")) == 0);
  must(tx.commit());
  BOOST_TEST(must(mem::rows_of(*reader, "t")).size() == 1u);
  BOOST_TEST(w.db->committed_counter("c") == 3);
}

BOOST_AUTO_TEST_CASE(replays_in_open_transactions_do_not_hold_the_key) {
  world w;
  get<executed>(w.debit("k"));
  auto const first = mem::connect(w.db);
  auto const second = mem::connect(w.db);
  auto one = must(transaction::begin(*first));
  auto two = must(transaction::begin(*second));
  claim_options options;
  options.wait_limit = 0ms;
  for (auto* tx : {&one, &two}) {
    auto const claimed = must(w.idem().claim(*tx, make_request("k"), options));
    BOOST_TEST(std::holds_alternative<replayed>(claimed));
  }
}

BOOST_AUTO_TEST_CASE(rollback_and_closing_undo) {
  world w;
  {
    auto const s = mem::connect(w.db);
    auto tx = must(transaction::begin(*s));
    must(mem::append(tx, "t", "r"));
    must(tx.rollback());
    must(s->begin({}));
    auto second = must(transaction::adopt(*s));
    must(mem::add(second, "c", 1));
    BOOST_TEST(w.db->open_transactions() == 1u);
  }
  BOOST_TEST(w.db->open_transactions() == 0u);
  BOOST_TEST(w.db->committed_rows("t").empty());
  BOOST_TEST(w.db->committed_counter("c") == 0);
}

BOOST_AUTO_TEST_CASE(constraints) {
  world w;
  auto const s = mem::connect(w.db);
  auto tx = must(transaction::begin(*s));
  must(mem::insert(tx, "names", "ann"));
  BOOST_TEST((mem::insert(tx, "names", "ann").error().what == errc::unique_violation));
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST(must(mem::add(tx, "c", most)) == most);
  BOOST_TEST((mem::add(tx, "c", 1).error().what == errc::constraint_violation));
  BOOST_TEST(must(mem::add(tx, "c", -1)) == most - 1);

  auto const other = mem::connect(w.db);
  must(mem::set_wait_limit(*other, 0ms));
  auto second = must(transaction::begin(*other));
  BOOST_TEST((mem::insert(second, "names", "ann").error().what == errc::lock_timeout));
  must(second.rollback());
  second = must(transaction::begin(*other));
  must(mem::insert(second, "names", "bob"));
  must(tx.commit());
  BOOST_TEST((mem::insert(second, "names", "ann").error().what == errc::unique_violation));
  must(second.commit());
  BOOST_TEST(w.db->committed_rows("names").size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_disconnected_session_has_lost_its_transaction) {
  world w;
  auto const s = mem::connect(w.db);
  auto const other = mem::connect(w.db);
  auto tx = must(transaction::begin(*s));
  must(mem::append(tx, "t", "r"));
  must(mem::add(tx, "c", 1));
  must(mem::disconnect(*s));
  BOOST_TEST(w.db->open_transactions() == 0u);
  BOOST_TEST((mem::append(tx, "t", "r").error().what == errc::connection_lost));
  auto const committed = tx.commit();
  BOOST_TEST((committed.error().certainty == certainty::rolled_back));
  BOOST_TEST((must(s->status()) == transaction_status::unknown));
  // What it had locked is free, and the others live.
  must(mem::set_wait_limit(*other, 0ms));
  auto second = must(transaction::begin(*other));
  BOOST_TEST(must(mem::add(second, "c", 1)) == 1);
  must(second.commit());
  BOOST_TEST(w.db->committed_rows("t").empty());
}

BOOST_AUTO_TEST_CASE(the_wait_limit_is_told) {
  world w;
  auto const s = mem::connect(w.db);
  BOOST_TEST((mem::wait_limit(*s) == mem::default_wait_limit));
  must(mem::set_wait_limit(*s, 7ms));
  BOOST_TEST((mem::wait_limit(*s) == 7ms));
  must(s->reset());
  BOOST_TEST((mem::wait_limit(*s) == mem::default_wait_limit));
}

BOOST_AUTO_TEST_CASE(begin_options_are_kept_or_refused) {
  world w;
  auto const s = mem::connect(w.db);
  begin_options options;
  options.isolation = isolation::serializable;
  BOOST_TEST((transaction::begin(*s, options).error().what == errc::unsupported));
  options.isolation = isolation::read_committed;
  options.read_only = true;
  auto tx = must(transaction::begin(*s, options));
  BOOST_TEST((mem::append(tx, "t", "r").error().what == errc::read_only));
  BOOST_TEST((w.idem().claim(tx, make_request("k")).error().what == errc::read_only));
  BOOST_TEST((s->begin({}).error().what == errc::session_not_idle));
}

BOOST_AUTO_TEST_CASE(statement_that_aborts_its_transaction) {
  world w;
  auto const answered = w.idem().run(*w.sessions, make_request("k"), [](transaction& tx) {
    must(mem::append(tx, "ledger", "r"));
    BOOST_TEST((mem::abort_transaction(tx).error().what == errc::statement_failed));
    return ok("goes on");
  });
  BOOST_TEST((answered.error().what == errc::transaction_aborted));
  BOOST_TEST((answered.error().certainty == certainty::rolled_back));
  BOOST_TEST(w.ledger() == 0u);
}

BOOST_AUTO_TEST_CASE(reset_makes_a_session_as_new) {
  world w;
  auto const s = mem::connect(w.db);
  must(s->begin({}));
  must(mem::fail_next_commit(*s, mem::commit_fault::lost_before));
  must(s->reset());
  BOOST_TEST((must(s->status()) == transaction_status::idle));
  auto tx = must(transaction::begin(*s));
  must(tx.commit());
  w.db->restart();
  BOOST_TEST((s->reset().error().advice == advice::new_connection));
}

BOOST_AUTO_TEST_CASE(sessions_are_numbered_and_seen_through_a_wrapper) {
  world w;
  struct wrapper final : session {
    session& real;
    explicit wrapper(session& s) : real(s) {}
    dialect const& sql() const noexcept override { return real.sql(); }
    result<transaction_status> status() override { return real.status(); }
    result<> begin(begin_options const& o) override { return real.begin(o); }
    result<> commit(std::span<statement const> last, call_limits const& l) override {
      return real.commit(last, l);
    }
    result<> rollback() noexcept override { return real.rollback(); }
    result<std::vector<rows>> execute(std::span<statement const> s, call_limits const& l) override {
      return real.execute(s, l);
    }
    result<> reset() noexcept override { return real.reset(); }
    void* native_handle() noexcept override { return real.native_handle(); }
  };
  auto const s = mem::connect(w.db);
  wrapper wrapped(*s);
  BOOST_TEST(mem::session_id(wrapped) == mem::session_id(*s));
  BOOST_TEST(mem::session_id(*mem::connect(w.db)) != mem::session_id(*s));
  BOOST_TEST(mem::transaction_serial(wrapped) == 0u);
  auto tx = must(transaction::begin(wrapped));
  auto const serial = mem::transaction_serial(wrapped);
  BOOST_TEST(serial != 0u);
  BOOST_TEST(serial == mem::transaction_serial(*s));
  must(mem::append(tx, "t", "r"));
  must(tx.commit());
  BOOST_TEST(mem::transaction_serial(wrapped) == 0u);
  BOOST_TEST(!mem::waiting(wrapped));
}

BOOST_AUTO_TEST_CASE(records_deleted_hidden_and_refused) {
  world w;
  std::array<parameter, 3> const key{"tenant", "debit:v1", "k"};
  auto const deleting = w.idem().run(*w.sessions, make_request("k"), [&](transaction& tx) {
    BOOST_TEST(must(tx.execute("DELETE main.idem_record", key)).affected == 1);
    return ok();
  });
  BOOST_TEST((deleting.error().what == errc::save_unmatched));
  auto const done = get<executed>(w.debit("k"));

  auto const s = mem::connect(w.db);
  std::string_view const attempt(reinterpret_cast<char const*>(done.attempt.bytes.data()), 16);
  std::array<parameter, 4> const claimed{key[0], key[1], key[2], blob_view{attempt}};
  statement const discard{"DISCARD main.idem_record", claimed};
  BOOST_TEST(must(s->execute(std::span(&discard, 1), {})).front().affected == 0);

  auto hide = [&](std::int64_t on) {
    std::array<parameter, 4> const all{key[0], key[1], key[2], on};
    statement const one{"HIDE main.idem_record", all};
    must(s->execute(std::span(&one, 1), {}));
  };
  hide(1);
  BOOST_TEST((w.debit("k").error().what == errc::record_invisible));
  hide(0);
  get<replayed>(w.debit("k"));

  std::array<parameter, 8> const null_key{"tenant", "op", {}, "a", 1, "f", {}, 0};
  statement const claim{"CLAIM main.idem_record", null_key};
  BOOST_TEST((s->execute(std::span(&claim, 1), {}).error().what == errc::constraint_violation));
  BOOST_TEST(w.db->committed_records() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
