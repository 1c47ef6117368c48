// SPDX-License-Identifier: BSL-1.0
#include "tests/support/run_truth.h"

#include <algorithm>

#include "tests/support/scripted_engine.h"

namespace idem_test {

namespace {

using idem::certainty;
using idem::record_state;

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

std::string as_bytes(idem::attempt_id const& id) {
  return {reinterpret_cast<char const*>(id.bytes.data()), id.bytes.size()};
}

bool carries(idem::error const& e, std::string const& attempt) {
  return std::ranges::any_of(e.attempts, [&](auto const& id) { return as_bytes(id) == attempt; });
}

ending ending_of(run_end const& end) {
  if (end.thrown) return ending::thrown;
  if (!*end.answer) return ending::failed;
  return std::visit(overloaded{[](idem::executed const&) { return ending::executed; },
                               [](idem::replayed const&) { return ending::replayed; },
                               [](idem::refused const& r) {
                                 return r.stored ? ending::refused_stored : ending::refused;
                               },
                               [](idem::mismatched const&) { return ending::mismatched; },
                               [](idem::in_progress const&) { return ending::in_progress; }},
                    **end.answer);
}

}  // namespace

bool attempt_log::has(std::string const& stored_attempt) const {
  return std::ranges::any_of(attempts,
                             [&](auto const& id) { return as_bytes(id) == stored_attempt; });
}

bool stores(stored const& row, idem::response const& r, record_state state) {
  return row.state == static_cast<std::int64_t>(state) && row.status == r.status &&
         row.headers == idem::encode_headers(r) && row.has_body == r.body.has_value() &&
         row.body == r.body;
}

truth read_truth(scripted_server const& server, attempt_log const& log) {
  truth t;
  t.effects = static_cast<int>(server.effects.size());
  t.mine = static_cast<int>(std::ranges::count(server.effects, mine));
  auto const at = server.records.find(the_key());
  if (at == server.records.end()) return t;
  t.record = at->second;
  t.ours = log.has(at->second.attempt);
  return t;
}

void run_judge::expect(bool holds, char const* what, char const* when) {
  if (!holds) complain(std::string(what) + (*when ? std::string(", ") + when : ""));
}

void run_judge::honest(run_end const& end, char const* when) {
  auto const t = read_truth(world_.server, log_);
  expect(t.mine <= 1, "the effect took place twice", when);
  // An effect that commits by itself and a fault that hides it: more cannot be known.
  if (world_.blinded) return;
  bool const second_due = scenario_.claims_second && t.mine == 1;
  expect(world_.server.records.contains(second_key()) == second_due,
         "the effect's other claim has another end than the effect", when);
  if (end.thrown) {
    expect(*end.thrown == 42, "another exception than the effect's", when);
    nothing_of_it(t, when);
  } else if (*end.answer) {
    honest_answer(**end.answer, t, when);
  } else {
    honest_error(end.answer->error(), end, t, when);
  }
}

void run_judge::nothing_of_it(truth const& t, char const* when) {
  expect(t.mine == 0, "an effect stayed", when);
  expect(!t.ours, "a record stayed", when);
}

void run_judge::honest_answer(idem::outcome const& o, truth const& t, char const* when) {
  auto const same = [&](idem::response const& r, record_state state) {
    return t.record && stores(*t.record, r, state);
  };
  std::visit(
      overloaded{
          [&](idem::executed const& e) {
            expect(t.mine == 1 && t.ours, "executed without its effect and record", when);
            expect(same(e.response, record_state::completed), "executed: other response", when);
            expect(t.record && as_bytes(e.attempt) == t.record->attempt, "executed: other attempt",
                   when);
            expect(e.response == the_response(), "executed: not the effect's response", when);
          },
          [&](idem::replayed const& r) {
            expect(t.mine == 0 && !t.ours, "replayed what this run did itself", when);
            expect(
                same(r.response, r.was_refusal ? record_state::refused : record_state::completed),
                "replayed: other response", when);
          },
          [&](idem::refused const& r) {
            expect(t.mine == 0, "refused, and the effect stayed", when);
            expect(r.response == the_refusal(), "refused: other response", when);
            if (r.stored)
              expect(t.ours && same(r.response, record_state::refused), "refusal not stored", when);
            else
              nothing_of_it(t, when);
          },
          [&](idem::mismatched const&) {
            expect(t.record.has_value(), "mismatched without a record", when);
            nothing_of_it(t, when);
          },
          [&](idem::in_progress const&) { nothing_of_it(t, when); }},
      o);
}

bool run_judge::doubt_allowed() const {
  bool const open_hands = !world_.server.kind().guards_commit;
  return world_.commit_doubtful || (open_hands && (world_.replaced || world_.witness_struck));
}

void run_judge::honest_error(idem::error const& e, run_end const& end, truth const& t,
                             char const* when) {
  if (e.certainty == certainty::in_doubt) {
    expect(doubt_allowed(), "in doubt without a cause", when);
    expect(!e.attempts.empty(), "in doubt without attempts", when);
    expect(e.advice == idem::advice::resolve_first, "in doubt, but not 'resolve first'", when);
    if (t.ours) expect(carries(e, t.record->attempt), "the attempt that stayed is kept", when);
    for (auto const& id : e.attempts)
      expect(log_.has(as_bytes(id)), "an attempt of nobody's", when);
    return;
  }
  expect(e.advice != idem::advice::resolve_first, "certain, but 'resolve first'", when);
  nothing_of_it(t, when);
  bool const started = end.calls > 0;
  expect((e.certainty == certainty::rolled_back) == started,
         started ? "the effect ran: 'rolled back' is due" : "no effect ran: 'not executed' is due",
         when);
}

void run_judge::as_expected(run_end const& end) {
  auto const want = scenario_.expected(world_.server.kind());
  auto const got = ending_of(end);
  bool same = got == want.how;
  if (same && got == ending::failed) same = end.answer->error().what == want.what;
  if (same) return;
  std::string text =
      "ended otherwise than expected (" + std::to_string(static_cast<int>(got)) + ")";
  if (got == ending::failed) text += ": " + idem::describe(end.answer->error());
  complain(std::move(text));
}

void run_judge::disciplined(run_end const& end) {
  for (auto const& breach : world_.breaches) complain(breach);
  expect(world_.trace.size() <= 100, "too many steps");
  expect(end.calls <= 5, "the effect was called too often");
  if (!end.answer || *end.answer) return;
  auto const line = idem::describe(end.answer->error());
  expect(line.find("secret") == std::string::npos, "a message shows a key or server text");
  expect(!end.answer->error().message.empty(), "an error without words");
}

void run_judge::resolved(idem::result<idem::resolution> const& r, bool settled) {
  char const* const when = settled ? "resolved at the end" : "resolved at once";
  auto const t = read_truth(world_.server, log_);
  if (!r) {
    bool const half = t.record && t.record->state == 0;
    expect(half && r.error().what == idem::errc::incomplete, "resolve failed", when);
    expect((r.error().certainty == certainty::in_doubt) == t.ours,
           "resolve: certainty of an incomplete record", when);
    return;
  }
  namespace res = idem::resolved;
  bool const provable = world_.server.kind().facts.claim_proves_absence;
  std::visit(
      overloaded{
          [&](res::executed const& e) {
            expect(t.ours && as_bytes(e.attempt) == t.record->attempt, "no such attempt", when);
            expect(t.record && stores(*t.record, e.response, e.state), "other response", when);
          },
          [&](res::replayed const&) { expect(t.record && !t.ours, "nothing to replay", when); },
          [&](res::mismatched const&) { expect(t.record && !t.ours, "no mismatch", when); },
          [&](res::open const&) { expect(!settled, "open, and nothing is", when); },
          [&](res::absent const&) {
            expect(!t.record && !world_.server.commit_on_the_way(), "absent, and it is not", when);
          },
          [&](res::unproven const&) {
            // Where a wait is not for this identity, an abandoned transaction is in the way.
            bool const named = world_.server.kind().facts.claim_wait_names_identity;
            bool const hindered = !named && !settled;
            expect(!provable || hindered, "unproven where there is proof", when);
            expect(!settled || !t.record, "unproven, and there is a record", when);
          }},
      *r);
}

void run_judge::later_call(idem::result<idem::outcome> const& r) {
  auto const& rows = world_.server.effects;
  auto const effects = std::ranges::count(rows, mine) + std::ranges::count(rows, earlier) +
                       std::ranges::count(rows, later);
  expect(effects <= 1, "a later call repeated the effect");
  if (!r) {
    using idem::errc;
    auto const what = r.error().what;
    expect(what == errc::incomplete || what == errc::fingerprint_unknown, "a later call failed");
    return;
  }
  auto const* again = std::get_if<idem::replayed>(&*r);
  bool const done = std::holds_alternative<idem::executed>(*r) || (again && !again->was_refusal);
  if (done) expect(effects == 1, "a later call was answered without an effect");
}

}  // namespace idem_test
