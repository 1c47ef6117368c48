// SPDX-License-Identifier: BSL-1.0
// UNK, THR: the answer that never came, and what an answer costs.
#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "conformance/proxy/last_words.h"
#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/wire.h"

namespace idem::inline v1::conformance {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// UNK-01
void cut_at_every_message(context& c) {
  constexpr std::size_t fewest = 40;
  auto const all =
      cut_everywhere(c, [&c](session_source& sessions, operation const& op,
                             run_options const& options) { return c.run(sessions, op, options); });
  if (all.cases >= fewest) c.mark("every_message_cut");
}

// UNK-02
void commit_never_arrives(context& c) {
  cut_wire wire(c);
  auto const op = c.make_operation("COMMIT cut off");
  auto const sessions = wire.sessions();
  wire.arm_next({.way = direction::to_server, .matches = is_commit});
  auto const called = c.run(*sessions, op);
  if (wire.between().fired()) c.mark("commit_kept_from_the_server");
  check_executed(c, called, "the call, which found out that it was not committed");
  c.check(c.body_calls(op) == 2, "the effect ran again");
  c.check_stored(op, 1, true);
}

// UNK-03
void commit_answer_lost(context& c) {
  cut_wire wire(c);
  auto const op = c.make_operation("answer lost");
  auto const sessions = wire.sessions();
  wire.arm_next({.way = direction::to_client, .matches = is_commit});
  auto const called = c.run(*sessions, op);
  if (wire.between().fired()) c.mark("answer_to_commit_kept");
  check_executed(c, called, "the call, which found its own record");
  c.check(c.body_calls(op) == 1, "the effect ran once");
  auto& other = c.connect();
  check_replayed(c, c.run(other, op), called, "another caller");
  c.check_stored(op, 1, true);
}

// UNK-04
void zombie_commit(context& c) {
  cut_wire wire(c);
  auto const op = c.make_operation("COMMIT under way");
  auto const sessions = wire.sessions();
  wire.arm_next({.way = direction::to_server, .action = fault_action::hold, .matches = is_commit});
  auto const first = c.run(*sessions, op, one_attempt(milliseconds(300)));
  c.require(wire.between().fired(), "the COMMIT is held");
  c.check(!first.answered && first.answered.error().certainty == certainty::in_doubt,
          "the first caller is told that it is in doubt; it was: " + first.name());
  auto& elsewhere = c.connect();
  call again;
  std::thread retry([&] {
    run_options patient;
    patient.wait_limit = std::chrono::seconds(30);
    again = c.run(elsewhere, op, patient);
  });
  bool const waits = c.await_blocked(elsewhere);
  if (waits) c.mark("retry_began_before_release");
  wire.between().release();
  retry.join();
  c.check(waits, "the retry waits for the old transaction");
  c.check(again.is<replayed>(), "the retry is a replay; it was: " + again.name());
  if (again.is<replayed>() && c.body_calls(op) == 1) c.mark("old_commit_reached_the_server");
  c.check_stored(op, 1, true);
}

// UNK-05
void black_hole(context& c) {
  constexpr milliseconds patience{300};
  // A cancel is tried, and its answer awaited for a while.
  constexpr milliseconds longest{10 * patience};
  cut_wire wire(c);
  auto& direct = c.connect();
  for (auto const way : {direction::to_server, direction::to_client})
    for (bool const at_commit : {false, true}) {
      auto const what = std::string(to_string(way)) + (at_commit ? " at COMMIT" : " at the claim");
      auto const op = c.make_operation(what);
      auto const sessions = wire.sessions(1);
      auto* const ready = c.must(sessions->acquire({}), "a session is opened before");
      sessions->release(ready, true);
      fault_plan plan{.way = way, .action = fault_action::swallow};
      if (at_commit) plan.matches = is_commit;
      wire.between().arm(std::move(plan));
      auto const began = steady_clock::now();
      auto const called = c.run(*sessions, op, one_attempt(patience));
      auto const took = steady_clock::now() - began;
      c.check(wire.between().fired(), what + ": the wire is dark");
      c.check(took < longest, what + ": the call returns in time");
      c.check(!called.answered, what + ": the call is told an error; it was: " + called.name());
      wire.between().release();  // the server reads the end of the connection
      aftermath(c, direct, op, called).check(what);
    }
  c.mark("dark_at_each_step");
}

// UNK-12
void killed_in_the_effect(context& c) {
  cut_wire wire(c);
  auto const op = c.make_operation("killed in the effect");
  auto const sessions = wire.sessions();
  int calls = 0;
  std::array<std::string, 2> ids;
  std::optional<error> told;
  auto const called = c.run(*sessions, op, [&](transaction& tx) -> result<answer> {
    auto const id = c.engine().session_id(tx.session());
    if (id && calls < 2) ids[static_cast<std::size_t>(calls)] = *id;
    if (calls++ == 0) wire.between().arm({.way = direction::to_server});
    auto nonce = c.write_effect(tx, op);
    if (nonce) return answer(c.response_with(std::move(*nonce)));
    if (!told) told = nonce.error();
    auto const after = tx.execute("SELECT 1");
    c.check(!after, "the next statement is an error, too");
    return std::unexpected(std::move(nonce).error());
  });
  if (told && wire.between().fired()) c.mark("killed_in_the_middle");
  c.check(told && told->what == errc::connection_lost, "the statement is told that it is lost");
  check_executed(c, called, "the call, on a new connection");
  c.check(!ids[0].empty() && ids[0] != ids[1], "it is another session");
  c.check_stored(op, 1, true);
}

// UNK-13
void nobody_answers(context& c) {
  cut_wire wire(c);
  auto const op = c.make_operation("no connection");
  auto const sessions = wire.sessions();
  wire.between().down();
  auto const called = c.run(*sessions, op, one_attempt());
  c.mark("connection_refused");
  check_failed(c, called, errc::connection_failed, "a call without a connection");
  c.check(!called.answered && called.answered.error().certainty == certainty::not_executed,
          "it was certainly not sent");
  c.check(c.body_calls(op) == 0, "the effect did not run");
  c.must(wire.between().up(), "the relay listens again");
  check_executed(c, c.run(*sessions, op), "the next call");
  c.check_stored(op, 1, true);
}

// The session reads what it has left unread before it is used again.
std::size_t trips(cut_wire& wire, context& c, session_pool& sessions) {
  auto* const s = c.must(sessions.acquire({}), "the session is taken again");
  auto const status = c.must(s->status(), "its state is read");
  c.check(status == transaction_status::idle, "the session is idle after the call");
  sessions.release(s, true);
  return wire.between().counts().round_trips;
}

// THR-01
void round_trips(context& c) {
  auto const declared = c.engine().declared_trips();
  c.require(declared.has_value(), "the subject declares its round trips");
  cut_wire wire(c);
  auto const sessions = wire.sessions(1);
  auto const warm = c.run(*sessions, c.make_operation("warm"));
  check_executed(c, warm, "the first call, which prepares");
  auto const op = c.make_operation("counted");
  auto const other = c.wrap(c.make_operation("counted", "other").request);
  auto const expect = [&](std::size_t wanted, std::string const& what) {
    auto const counted = trips(wire, c, *sessions);
    c.log(what + ": " + std::to_string(counted));
    c.check(counted == wanted, what + " takes " + std::to_string(wanted) +
                                   " round trips; it took " + std::to_string(counted));
    wire.between().reset_counts();
  };
  wire.between().reset_counts();
  auto const first = c.run(*sessions, op);
  check_executed(c, first, "the call that is counted");
  expect(declared->around_effect + declared->standard_effect, "a first execution");
  check_replayed(c, c.run(*sessions, op), first, "a replay");
  expect(declared->replay, "a replay");
  check_mismatched(c, c.run(*sessions, other), "a mismatch");
  expect(declared->mismatch, "a mismatch");
  if (declared->fixed > 0) {
    check_executed(c, c.run_fixed(*sessions, c.make_operation("warm too")), "the first fixed one");
    trips(wire, c, *sessions);
    wire.between().reset_counts();
    auto const fixed = c.make_operation("fixed");
    auto const once = c.run_fixed(*sessions, fixed);
    check_executed(c, once, "the fixed one that is counted");
    expect(declared->fixed, "a fixed effect");
    check_replayed(c, c.run_fixed(*sessions, fixed), once, "its replay");
    expect(declared->fixed, "its replay");
    auto const unlike = c.wrap(c.make_operation("fixed", "other").request);
    check_mismatched(c, c.run_fixed(*sessions, unlike), "its mismatch");
    expect(declared->fixed, "its mismatch");
  }
  c.mark("counted_on_the_wire");
}

void no_wire(context& c) {
  c.check(!c.engine().wire(), "there is no wire between client and engine");
  c.check(!c.engine().connect_by(1), "no session can be opened by another port");
  auto const op = c.make_operation("without a wire");
  check_executed(c, c.run(c.connect(), op), "a call");
  c.check_stored(op, 1, true);
}

struct foreign_case {
  std::string what;
  direction way;
  moment when;
  bool committed;
};

fault_plan stand_in(foreign_case const& f, last_words const& words) {
  return {.way = f.way,
          .action = fault_action::replace,
          .when = f.when,
          .matches = is_commit,
          .replacement = words.bytes};
}

// The relay's own word that the answer went out.
bool was_replaced(cut_wire& wire) {
  auto const log = wire.between().log();
  return !log.empty() && std::ranges::count(log, relay_action::replaced, &relay_event::action) == 1;
}

// The one attempt must say that it does not know, and by whose words.
void told_by_another(context& c, foreign_case const& f, last_words const& words) {
  auto const what = f.what + ", " + words.whose;
  cut_wire wire(c);
  auto const op = c.make_operation(what);
  auto const sessions = wire.only_session();
  wire.between().arm(stand_in(f, words));
  auto const called = c.run(*sessions, op, one_attempt());
  c.check(was_replaced(wire), what + ": the answer is replaced");
  bool const heard = !called.answered && called.answered.error().native.sqlstate == words.sqlstate;
  c.check(heard, what + ": the caller is told whose words they are; it was: " + called.name());
  aftermath after(c, c.connect(), op, called);
  c.check(after.in_doubt(), what + ": the caller is told that it is in doubt");
  after.check(what);
  c.check(after.committed() == f.committed, what + ": what was resolved is the truth");
  if (heard && after.committed()) c.mark("words_after_commit");
  if (heard && after.in_doubt() && !after.committed()) c.mark("words_without_commit");
}

void found_out_in_spite(context& c, foreign_case const& f, last_words const& words) {
  auto const what = f.what + ", " + words.whose + ", with retry";
  cut_wire wire(c);
  auto const op = c.make_operation(what);
  auto const sessions = wire.sessions();
  wire.between().arm(stand_in(f, words));
  auto const called = c.run(*sessions, op);
  c.check(was_replaced(wire), what + ": the answer is replaced");
  check_executed(c, called, what + ": the call");
  c.check(c.body_calls(op) == (f.committed ? 1 : 2), what + ": the effect ran as often as needed");
  c.check_stored(op, 1, true);
  check_replayed(c, c.run(c.connect(), op), called, what + ": another caller");
}

// UNK-18
void foreign_answer(context& c) {
  std::array<foreign_case, 3> const cases{{
      {"for the answer to COMMIT", direction::to_client, moment::before, true},
      {"for all answers to its flush", direction::to_server, moment::after, true},
      {"for a COMMIT that was not sent on", direction::to_server, moment::before, false},
  }};
  auto const all = last_words_in(c.engine().wire().value_or(wire_place{}).protocol);
  c.require(!all.empty(), "words of another are known in this protocol");
  for (auto const& one : cases)
    for (auto const& words : all) {
      told_by_another(c, one, words);
      found_out_in_spite(c, one, words);
    }
}

constexpr auto wire_needed = capability::wire;

}  // namespace

std::span<scenario const> unknown_scenarios() {
  static constexpr scenario all[] = {
      {"UNK-01", cut_at_every_message, wire_needed, no_wire},
      {"UNK-02", commit_never_arrives, wire_needed, no_wire},
      {"UNK-03", commit_answer_lost, wire_needed, no_wire},
      {"UNK-04", zombie_commit, wire_needed, no_wire},
      {"UNK-05", black_hole, wire_needed, no_wire},
      {"UNK-12", killed_in_the_effect, wire_needed, no_wire},
      {"UNK-13", nobody_answers, wire_needed, no_wire},
      {"UNK-18", foreign_answer, wire_needed, no_wire},
  };
  return all;
}

std::span<scenario const> throughput_scenarios() {
  static constexpr scenario all[] = {
      {"THR-01", round_trips, wire_needed, no_wire},
  };
  return all;
}

}  // namespace idem::inline v1::conformance
