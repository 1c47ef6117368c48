// SPDX-License-Identifier: BSL-1.0
// `claim` and `complete` in a caller's transaction, with every kind of fault at every step.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "tests/support/claim_unit.h"
#include "tests/support/each_step.h"
#include "tests/support/run_truth.h"
#include "tests/support/scripted_store.h"

namespace {

using namespace idem_test;
using idem::certainty;
using idem::errc;

constexpr char second[] = "second";
constexpr char business[] = "business";  // the caller's other work

// --- what a caller does ----------------------------------------------------------------------

// A caller that rolls back at the first failure, and commits otherwise.
void end_by_the_book(claim_unit& u) {
  if (u.failed())
    u.roll_back();
  else
    u.commit();
}

void complete_and_commit(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (token && u.write()) u.complete(std::move(*token));
  if (!token && !u.failed()) u.write(business);  // the conflict left the transaction usable
  end_by_the_book(u);
}

// One that looks at no error.
void go_on_regardless(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (token && u.write()) u.complete(std::move(*token));
  u.commit();
}

void drop_the_token(claim_unit& u) {
  if (!u.begin()) return;
  {
    auto token = u.claim(the_request());
    if (!token) return end_by_the_book(u);
    u.write();
  }
  u.commit();
}

void never_complete(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (!token) return end_by_the_book(u);
  u.write();
  u.commit();
}

void complete_twice(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (!token || !u.write()) return end_by_the_book(u);
  auto const used = u.tx.has_value() && u.complete(std::move(*token));
  // NOLINTNEXTLINE(bugprone-use-after-move): that is the case here
  bool const again = used && u.complete(std::move(*token));
  u.expect(!again, "a token was used twice");
  if (used) {
    u.expect(u.end.failure && u.end.failure->what == errc::invalid_argument,
             "the second use of a token is 'invalid argument'");
    u.end.failure.reset();  // and harms nothing
  }
  end_by_the_book(u);
}

void claim_the_same_twice(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (!token) return end_by_the_book(u);
  auto const again = u.claim(the_request());
  u.expect(!again && u.failed(), "one identity was claimed twice");
  if (u.failed() && u.end.failure->what == errc::claim_open) u.end.failure.reset();
  if (!u.failed() && u.write()) u.complete(std::move(*token));
  end_by_the_book(u);
}

void claim_again_after(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (token && u.write() && u.complete(std::move(*token))) {
    auto const again = u.claim(the_request());
    bool const told = u.failed() || u.end.replayed || u.end.in_progress;
    u.expect(!again && told, "completed, and not replayed");
  }
  end_by_the_book(u);
}

template <bool Reverse>
void claim_two(claim_unit& u) {
  if (!u.begin()) return;
  auto first = u.claim(the_request());
  auto other = first ? u.claim(second_request()) : std::nullopt;
  bool const written = first && other && u.write() && u.write(second);
  if (written && Reverse) (void)(u.complete(std::move(*other)) && u.complete(std::move(*first)));
  if (written && !Reverse) (void)(u.complete(std::move(*first)) && u.complete(std::move(*other)));
  end_by_the_book(u);
}

void say_too_much(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (!token || !u.write()) return end_by_the_book(u);
  bool const done =
      u.complete(std::move(*token), {200, {}, std::string(most_response_bytes + 1, 'x')});
  u.expect(!done, "too large a response was accepted");
  u.commit();
}

// Meets a transient error and says nothing of it.
bool swallow_write(claim_unit& u) {
  if (u.write() || !idem::is_transient(*u.end.failure)) return false;
  u.end.failure.reset();
  return true;
}

void swallow_an_error(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (!token || !swallow_write(u)) return end_by_the_book(u);
  bool const done = u.complete(std::move(*token));
  u.expect(!done, "completed after a statement was undone alone");
  u.commit();
}

void swallow_an_error_after(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (!token || !u.complete(std::move(*token)) || !swallow_write(u)) return end_by_the_book(u);
  u.commit();
}

template <bool Commit, bool Begin>
void end_it_natively(claim_unit& u) {
  if (!u.begin()) return;
  auto token = u.claim(the_request());
  if (!token || !u.write()) return end_by_the_book(u);
  bool const ended = Commit ? u.session.native_commit() : u.session.native_rollback();
  if (ended && Begin) u.session.native_begin();
  u.complete(std::move(*token));
  end_by_the_book(u);
}

void nothing(scripted_world&) {}
void completed(scripted_world& w) {
  w.server.effects.emplace_back(earlier);
  w.server.records[the_key()] = earlier_record(the_request(), 1, idem::record_state::completed);
}
void other_content(scripted_world& w) {
  w.server.records[the_key()] = earlier_record(other_request(), 1, idem::record_state::completed);
}
void half_done(scripted_world& w) {
  w.server.records[the_key()] = earlier_record(the_request(), 1, idem::record_state::claimed);
}
void invisible(scripted_world& w) {
  completed(w);
  w.server.records_hidden = true;
}
void deadlock_ahead(scripted_world& w) { w.effect_errors = {fault_kind::deadlock}; }
void lock_timeout_ahead(scripted_world& w) { w.effect_errors = {fault_kind::lock_timeout}; }

// --- how it ends without a fault -------------------------------------------------------------

using expectation = bool (*)(unit_end const&, unit_owner, flavour const&);

bool is_committed(unit_end const& e, unit_owner, flavour const&) {
  return e.committed && !e.completed.empty() && !e.failure;
}
bool is_replayed(unit_end const& e, unit_owner, flavour const&) {
  return e.committed && e.replayed;
}
bool is_mismatched(unit_end const& e, unit_owner, flavour const&) {
  return e.committed && e.mismatched;
}
bool is_held(unit_end const& e, unit_owner, flavour const& f) {
  if (f.lock_at_begin) return e.failure && e.failure->what == errc::lock_timeout;
  if (f.failed_statement_aborts) return e.failure && e.failure->what == errc::transaction_aborted;
  if (f.facts.claim_wait_names_identity) return e.committed && e.in_progress;
  return e.failure && e.failure->what == errc::lock_timeout;
}
template <errc What>
bool fails(unit_end const& e, unit_owner, flavour const&) {
  return !e.committed && e.failure && e.failure->what == What;
}
// idem refuses the commit; a caller with its own COMMIT is not held back.
bool is_refused(unit_end const& e, unit_owner o, flavour const&) {
  if (o == unit_owner::caller) return e.committed;
  return e.commit_error && e.commit_error->what == errc::transaction_aborted &&
         e.commit_error->certainty == certainty::rolled_back;
}
bool is_refused_as_too_large(unit_end const& e, unit_owner o, flavour const&) {
  return o == unit_owner::caller ||
         (e.commit_error && e.commit_error->what == errc::response_too_large);
}
bool is_refused_as_transient(unit_end const& e, unit_owner o, flavour const&) {
  return o == unit_owner::caller || (e.commit_error && idem::is_transient(*e.commit_error));
}
template <bool Commits>
bool is_replaced(unit_end const& e, unit_owner o, flavour const& f) {
  if (Commits && f.guards_commit) return e.committed;  // the handle could not
  bool const unknown = o == unit_owner::caller || !f.guards_commit;
  return e.failure && e.failure->what == errc::transaction_replaced &&
         (e.failure->certainty == certainty::in_doubt) == unknown &&
         e.failure->attempts.empty() == !unknown;
}

struct unit_case {
  char const* name;
  void (*prepare)(scripted_world&);
  void (*script)(claim_unit&);
  expectation expected;
  bool in_pairs = false;
  bool other_holds = false;
  bool idem_only = false;  ///< what a caller with its own COMMIT may do
};

constexpr unit_case cases[] = {
    {"completed and committed", nothing, complete_and_commit, is_committed, true},
    {"replayed", completed, complete_and_commit, is_replayed, true},
    {"mismatched", other_content, complete_and_commit, is_mismatched},
    {"in progress", nothing, complete_and_commit, is_held, false, true},
    {"incomplete", half_done, complete_and_commit, fails<errc::incomplete>},
    {"invisible", invisible, complete_and_commit, fails<errc::record_invisible>},
    {"regardless", nothing, go_on_regardless, is_committed, true},
    {"token dropped", nothing, drop_the_token, is_refused},
    {"never completed", nothing, never_complete, is_refused},
    {"completed twice", nothing, complete_twice, is_committed},
    {"same identity twice", nothing, claim_the_same_twice, is_committed},
    {"claimed again after", nothing, claim_again_after, is_committed},
    {"two identities", nothing, claim_two<false>, is_committed, true},
    {"two identities, reverse", nothing, claim_two<true>, is_committed},
    {"too large", nothing, say_too_much, is_refused_as_too_large},
    {"swallowed deadlock", deadlock_ahead, swallow_an_error, is_refused_as_transient},
    {"swallowed lock timeout", lock_timeout_ahead, swallow_an_error, is_refused_as_transient},
    {"swallowed after", lock_timeout_ahead, swallow_an_error_after, is_refused_as_transient, false,
     false, true},
    {"commits natively", nothing, end_it_natively<true, false>, is_replaced<true>},
    {"commits and begins", nothing, end_it_natively<true, true>, is_replaced<true>},
    {"rolls back natively", nothing, end_it_natively<false, false>, is_replaced<false>},
    {"rolls back and begins", nothing, end_it_natively<false, true>, is_replaced<false>},
};

// --- the truth -------------------------------------------------------------------------------

/// Judges one unit of work by the tables.
class unit_judge {
 public:
  unit_judge(scripted_world const& w, unit_owner o, unit_end const& e,
             std::vector<std::string>& complaints)
      : world_(w), owner_(o), end_(e), complaints_(complaints) {
    log_.attempts = e.claimed;
  }

  void honest(std::string const& when) {
    auto const t = read_truth(world_.server, log_);
    expect(t.mine <= 1, "the effect took place twice", when);
    if (world_.blinded) return;
    if (end_.committed) return honest_commit(t, when);
    auto const* e = end_.commit_error ? &*end_.commit_error : nullptr;
    if (e == nullptr && end_.failure) e = &*end_.failure;
    if (e == nullptr) return;
    if (e->certainty == certainty::in_doubt)
      honest_doubt(*e, t, when);
    else
      nothing_of_it(t, when);
  }

  attempt_log const& log() const { return log_; }

 private:
  void expect(bool holds, char const* what, std::string const& when) {
    if (!holds) complaints_.push_back(std::string(what) + ", " + when);
  }

  void nothing_of_it(truth const& t, std::string const& when) {
    expect(t.mine == 0 && !t.ours, "not committed, and something stayed", when);
    expect(!world_.server.records.contains(second_key()), "a second record stayed", when);
  }

  void honest_commit(truth const& t, std::string const& when) {
    if (end_.completed.empty()) {
      // Only a caller who commits against idem's word leaves a record without a response.
      if (owner_ == unit_owner::idem) nothing_of_it(t, when);
      return;
    }
    expect(t.ours && stores(*t.record, the_response(), idem::record_state::completed),
           "committed without its record", when);
    bool const both = end_.completed.size() == 2;
    expect(world_.server.records.contains(second_key()) == both, "half of two records", when);
    // An error that the caller swallowed is the caller's affair where it commits itself.
    if (owner_ == unit_owner::idem) expect(t.mine == 1, "committed without its effect", when);
  }

  void honest_doubt(idem::error const& e, truth const& t, std::string const& when) {
    bool const open_hands = owner_ == unit_owner::caller || !world_.server.kind().guards_commit;
    bool const replaced = open_hands && (world_.replaced || world_.witness_struck);
    expect(world_.commit_doubtful || replaced, "in doubt without a cause", when);
    expect(e.advice == idem::advice::resolve_first || owner_ == unit_owner::caller,
           "in doubt, but not 'resolve first'", when);
    bool const carried = !t.ours || std::ranges::any_of(e.attempts, [&](auto const& id) {
      attempt_log one;
      one.attempts = {id};
      return one.has(t.record->attempt);
    });
    expect(carried, "the attempt that stayed is not named", when);
  }

  scripted_world const& world_;
  unit_owner owner_;
  unit_end const& end_;
  std::vector<std::string>& complaints_;
  attempt_log log_;
};

// Only what can be asked about: attempts whose COMMIT is in doubt.
idem::error const* doubt_of(unit_end const& end) {
  for (auto const* e : {&end.commit_error, &end.failure})
    if (*e && (*e)->certainty == certainty::in_doubt) return &**e;
  return nullptr;
}

void resolve(scripted_bench& b, scripted_world& world, unit_end const& end, bool settled,
             run_judge& judge) {
  auto const* doubt = doubt_of(end);
  if (doubt == nullptr || doubt->attempts.empty()) return;
  scripted_session fresh(world);
  judge.resolved(b.store.resolve(fresh, the_request(), doubt->attempts), settled);
}

unit_end run_unit(scripted_bench& b, scripted_world& world, unit_case const& c, unit_owner owner,
                  std::vector<port_call>& trace) {
  claim_unit unit(world, b.store, owner);
  c.script(unit);
  unit.tx.reset();
  trace = world.trace;
  // A caller whose connection or rollback failed throws the session away.
  return std::move(unit.end);
}

step_report run_planned(scripted_bench& b, unit_case const& c, unit_owner owner,
                        std::vector<injection> const& plan) {
  step_report report;
  scripted_world world(b.kind);
  c.prepare(world);
  std::optional<scripted_server::transaction_id> other;
  if (c.other_holds) {
    other = world.server.begin();
    world.server.claim(*other, the_key(), earlier_record(the_request(), 1, {}));
  }
  world.plan = plan;
  auto const end = run_unit(b, world, c, owner, report.trace);
  world.plan.clear();
  world.server.records_hidden = false;
  report.fired = world.fired;
  report.complaints = end.complaints;
  if (plan.empty() && !c.expected(end, owner, b.kind))
    report.complaints.push_back("ended otherwise than expected: " +
                                (end.commit_error ? idem::describe(*end.commit_error)
                                 : end.failure
                                     ? idem::describe(*end.failure)
                                     : std::string(end.committed ? "committed" : "nothing")));
  unit_judge judge(world, owner, end, report.complaints);
  run_judge answers(world, judge.log(), run_scenarios().front(), report.complaints);
  judge.honest("at once");
  if (other) world.server.rollback(*other);
  resolve(b, world, end, false, answers);
  world.server.settle_down();
  judge.honest("after all");
  resolve(b, world, end, true, answers);
  call_later(b, world, answers);
  if (world.server.anything_open()) report.complaints.emplace_back("a transaction is left open");
  return report;
}

tally run_case(scripted_bench& b, unit_case const& c, int depth, std::span<fault const> faults) {
  tally total;
  for (auto owner : {unit_owner::idem, unit_owner::caller}) {
    if (c.idem_only && owner == unit_owner::caller) continue;
    auto const name = b.kind.name + ": " + c.name +
                      (owner == unit_owner::idem ? " (idem's transaction)" : " (adopted)");
    total.add(fail_at_each_step(
        name, [&](auto const& plan) { return run_planned(b, c, owner, plan); }, depth, faults));
  }
  return total;
}

// All but the faults of a session's source, which is not used here.
constexpr std::size_t kinds_here = fault_kinds - 1;

}  // namespace

BOOST_AUTO_TEST_SUITE(claim_complete_each_step)

BOOST_AUTO_TEST_CASE(one_fault_at_each_step_of_each_use) {
  tally total;
  for (auto const& f : all_flavours()) {
    scripted_bench b(f);
    for (auto const& c : cases) total.add(run_case(b, c, 1, all_faults()));
  }
  BOOST_TEST(total.cases > 50'000);
  report_tally(total, kinds_here);
}

BOOST_AUTO_TEST_CASE(two_faults_in_the_main_uses) {
  tally total;
  for (auto const& f : engine_flavours()) {
    scripted_bench b(f);
    for (auto const& c : cases)
      if (c.in_pairs) total.add(run_case(b, c, 2, main_faults()));
  }
  BOOST_TEST(total.cases > 10'000);
  report_tally(total, kinds_here);
}

BOOST_AUTO_TEST_SUITE_END()
