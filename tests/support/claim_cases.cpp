// SPDX-License-Identifier: BSL-1.0
#include "tests/support/claim_cases.h"

#include <string>
#include <utility>

namespace idem_test {

namespace {

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

}  // namespace

std::span<unit_case const> claim_cases() { return cases; }

}  // namespace idem_test
