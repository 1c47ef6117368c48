// SPDX-License-Identifier: BSL-1.0
// MIS-04 and MIS-05: the same key with two contents, at the same time.
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/mismatch_parts.h"

namespace idem::inline v1::conformance {

namespace {

using namespace std::chrono_literals;

constexpr int nobody = -1;

// Two calls of one key, each by a thread of its own. Whoever's effect runs keeps its
// transaction open until `go_on`.
class meeting {
 public:
  meeting(context& c, std::array<session*, 2> sessions, std::array<operation, 2> operations)
      : context_(c), sessions_(sessions), operations_(std::move(operations)) {
    options_.wait_limit = 20s;
  }
  ~meeting() { go_on(); }

  void start(int side, bool then_fail = false) {
    threads_[index(side)] = std::jthread([this, side, then_fail] {
      auto const& op = operations_[index(side)];
      auto const called =
          context_.run(*sessions_[index(side)], op, effect(side, then_fail), options_);
      names_[index(side)] = called.name();
      bodies_[index(side)] = called.body();
      ++ended_;
    });
  }

  /// The side whose effect has written and waits, or nobody if all that started have ended.
  int await_winner(int started) {
    context_.await([&] { return winner_ != nobody || ended_ == started; });
    return winner_;
  }
  /// True if the other is seen waiting for the winner's transaction.
  bool await_overlap(int winner) {
    auto& loser = *sessions_[index(1 - winner)];
    bool waited = false;
    context_.await([&] {
      waited = context_.engine().waiting(loser);
      return waited || entered_ > 1 || ended_ > 0;
    });
    return waited;
  }
  void go_on() {
    go_on_ = true;
    go_on_.notify_all();
    for (auto& t : threads_)
      if (t.joinable()) t.join();
  }

  std::string const& name(int side) const { return names_[index(side)]; }
  std::string const& body(int side) const { return bodies_[index(side)]; }

 private:
  static std::size_t index(int side) { return static_cast<std::size_t>(side); }

  effect_function effect(int side, bool then_fail) {
    return [this, side, then_fail, standard = context_.standard_effect(operations_[index(side)])](
               transaction& tx) -> result<answer> {
      auto answered = standard(tx);
      ++entered_;
      winner_ = side;
      go_on_.wait(false);
      if (!then_fail) return answered;
      error e;
      e.message = "the effect changes its mind";
      return std::unexpected(std::move(e));
    };
  }

  context& context_;
  std::array<session*, 2> sessions_;
  std::array<operation, 2> operations_;
  run_options options_;
  std::atomic<int> winner_ = nobody, entered_ = 0, ended_ = 0;
  std::atomic<bool> go_on_ = false;
  std::array<std::string, 2> names_, bodies_;
  std::array<std::jthread, 2> threads_;
};

struct race_tally {
  std::array<int, 2> wins{};
  int overlaps = 0;
};

void race_once(context& c, std::array<session*, 2> sessions, int round, race_tally& tally) {
  auto const key = "race-" + std::to_string(round);
  std::array<operation, 2> const operations{c.make_operation(key, "left"),
                                            c.make_operation(key, "right")};
  meeting m(c, sessions, operations);
  m.start(round % 2);
  m.start(1 - round % 2);
  int const winner = m.await_winner(2);
  bool const overlapped = winner != nobody && m.await_overlap(winner);
  m.go_on();
  std::string const seen = m.name(0) + " and " + m.name(1);
  c.check(winner != nobody, key + ": one of the effects runs");
  if (winner == nobody) return;
  c.check(m.name(winner) == "executed" && m.name(1 - winner) == "mismatched",
          key + ": one is executed, the other a mismatch; they were " + seen);
  auto const rows = c.ledger_rows(operations[0]);
  c.check(
      rows.size() == 1 && rows.front().nonce == m.body(winner) && c.body_calls(operations[0]) == 1,
      key + ": the effect is the winner's alone");
  ++tally.wins[static_cast<std::size_t>(winner)];
  tally.overlaps += overlapped ? 1 : 0;
}

}  // namespace

void first_calls_race(context& c) {
  constexpr int rounds = 100, needed = 20;
  std::array<session*, 2> const sessions{&c.connect(), &c.connect()};
  race_tally tally;
  for (int round = 0; round < rounds; ++round) race_once(c, sessions, round, tally);
  c.log(std::to_string(tally.overlaps) + " of 100 rounds overlapped; won by left " +
        std::to_string(tally.wins[0]) + ", by right " + std::to_string(tally.wins[1]));
  if (tally.overlaps >= needed) c.mark("overlaps_20_of_100");
  if (tally.wins[0] > 0) c.mark("left_won");
  if (tally.wins[1] > 0) c.mark("right_won");
}

namespace {

void arrive_in_flight(context& c, bool first_commits) {
  std::string const arm = first_commits ? "commit" : "rollback";
  std::array<operation, 2> const operations{c.make_operation(arm, "first"),
                                            c.make_operation(arm, "second")};
  std::array<session*, 2> const sessions{&c.connect(), &c.connect()};
  meeting m(c, sessions, operations);
  m.start(0, !first_commits);
  bool const running = c.check(m.await_winner(1) == 0, arm + ": the first call's effect runs");
  m.start(1);
  if (running && m.await_overlap(0)) c.mark("met_a_" + arm);
  m.go_on();
  int const owner = first_commits ? 0 : 1;
  c.check(m.name(0) == (first_commits ? "executed" : "error statement_failed"),
          arm + ": the first call; it was: " + m.name(0));
  c.check(m.name(1) == (first_commits ? "mismatched" : "executed"),
          arm + ": the second call; it was: " + m.name(1));
  auto const& kept = operations[static_cast<std::size_t>(owner)];
  auto const& other = operations[static_cast<std::size_t>(1 - owner)];
  auto const found =
      c.must(c.idem().find(*sessions[0], kept.request.identity()), "the record is read");
  auto const own = c.must(c.idem().fingerprint_of(kept.request, current_fingerprint_version),
                          "its fingerprint is made");
  c.check(found && found->fingerprint == own, arm + ": the record has its own call's fingerprint");
  auto const again = c.run(*sessions[0], kept);
  c.check(again.is<replayed>() && again.body() == m.body(owner),
          arm + ": the call that was executed is replayed; it was: " + again.name());
  check_mismatched(c, c.run(*sessions[1], other), arm + ": the other one");
  c.check(c.body_calls(kept) == (first_commits ? 1 : 2), arm + ": no further effect ran");
  c.check_stored(kept, 1, true);
}

}  // namespace

void content_in_flight(context& c) {
  arrive_in_flight(c, true);
  arrive_in_flight(c, false);
}

}  // namespace idem::inline v1::conformance
