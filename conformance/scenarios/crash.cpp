// SPDX-License-Identifier: BSL-1.0
// CRS: processes that die in the middle.
#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/replay_parts.h"
#include "conformance/scenarios/wire.h"

namespace idem::inline v1::conformance {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t most_steps = 1000;
constexpr milliseconds longest_notice{10000};

// Lines of a word and the rest.
std::string after_word(std::string const& output, std::string const& word) {
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(word + " ")) return line.substr(word.size() + 1);
  return {};
}

struct toll {
  std::size_t kills = 0;
  std::size_t left_nothing = 0;
  std::size_t left_all = 0;
  milliseconds longest{0};  // from a death to the answer of the next call

  std::string shown() const {
    return std::to_string(kills) + " kills: " + std::to_string(left_nothing) + " left nothing, " +
           std::to_string(left_all) + " left record and effect; the next call answered after " +
           std::to_string(longest.count()) + " ms at most";
  }
};

// What the observer finds when the server has done with the process, and what the next caller of
// the same request is told.
class inquest {
 public:
  inquest(context& c, session& direct, toll& all) : context_(c), direct_(direct), toll_(all) {}

  void hold(operation const& op, std::string const& what, worker_end const& end) {
    auto& c = context_;
    auto const died = steady_clock::now();
    auto const session = after_word(end.output, "session");
    c.check(session.empty() || is_gone(session), what + ": the server ends the dead one's session");
    auto const rows = c.ledger_rows(op).size();
    bool const record = c.has_record(op);
    // What comes next would only be the consequence.
    c.require(rows == (record ? 1U : 0U), what + ": record and effect are both there, or neither");
    if (!end.killed) survived(op, what, end, record);
    run_options patient;
    patient.wait_limit = longest_notice;
    auto const again = c.run(direct_, op, patient);
    auto const took = std::chrono::ceil<milliseconds>(steady_clock::now() - died);
    c.require(record ? again.is<replayed>() : again.is<executed>(),
              what + ": the next call is " + (record ? "replayed" : "executed") +
                  "; it was: " + again.name());
    c.check(took < longest_notice, what + ": nothing of the dead one blocks the next call");
    c.check_stored(op, 1, true);
    if (end.killed) count(record, took);
  }

 private:
  bool is_gone(std::string const& id) {
    auto const gone = [&] {
      auto const there = context_.engine().has_session(id);
      return there && !*there;
    };
    return context_.await(gone, longest_notice);
  }

  void survived(operation const& op, std::string const& what, worker_end const& end, bool record) {
    auto const told_it = after_word(end.output, "told");
    context_.check(told_it == "executed" && record,
                   what + ": a process that lives on is told executed; it was: " + told_it);
    context_.note(op, told::executed, after_word(end.output, "body"));
  }

  void count(bool record, milliseconds took) {
    ++toll_.kills;
    ++(record ? toll_.left_all : toll_.left_nothing);
    toll_.longest = std::max(toll_.longest, took);
  }

  context& context_;
  session& direct_;
  toll& toll_;
};

struct lives {
  toll all;
  std::set<std::string> places;  // where they ended
  std::string last_words;        // of the one that lived on
};

// The process kills itself at step, or write, 1, 2, 3 … of its operation, until it has no such.
lives die_at_each(context& c, session& direct, std::string const& kind) {
  lives so_far;
  inquest found(c, direct, so_far.all);
  for (std::size_t i = 1; i < most_steps; ++i) {
    auto const key = kind + " " + std::to_string(i);
    auto const op = c.make_operation(key);
    auto const end = c.must(c.mortal_worker({"die", "--key", key, "--" + kind, std::to_string(i)}),
                            key + ": the worker runs");
    auto const place = after_word(end.output, "dies");
    c.check(end.killed == !place.empty(), key + ": it dies where it means to");
    found.hold(op, end.killed ? key + " (" + place + ")" : key, end);
    if (!end.killed) {
      so_far.last_words = end.output;
      c.log("at each " + kind + ": " + so_far.all.shown());
      return so_far;
    }
    so_far.places.insert(place);
  }
  c.require(false, "an operation ends before " + kind + " " + std::to_string(most_steps));
  return so_far;
}

// Where the engine is inside the process, its files are written there.
void die_in_the_files(context& c, session& direct) {
  auto const writes = die_at_each(c, direct, "write");
  bool const seen = after_word(writes.last_words, "writes") != "unseen";
  c.check(seen == writes.places.contains("writing, before COMMIT"),
          "where writes are seen, processes died while they committed");
}

void die_at_each_step(context& c, session& direct) {
  auto const [all, places, last_words] = die_at_each(c, direct, "step");
  c.check(after_word(last_words, "steps") == std::to_string(all.kills),
          "every step of the operation was met");
  bool const in_effect =
      places.contains("as the effect begins") && places.contains("as the effect ends");
  if (in_effect) c.mark("killed_in_the_effect");
  if (places.contains("before COMMIT")) c.mark("killed_before_commit");
  if (places.contains("after COMMIT")) c.mark("killed_after_commit");
  if (all.left_nothing > 0) c.mark("left_nothing");
  if (all.left_all > 0) c.mark("left_all");
}

bool is_operation(message const& m) { return m.operation; }

// Whether the fault fell at a COMMIT or at its answer.
bool fell_at_commit(relay& between) {
  auto const log = between.log();
  auto const is_it = [](relay_event const& e) {
    return e.action == relay_action::fault && e.commits;
  };
  return std::ranges::any_of(log, is_it);
}

// The process is killed while message 0, 1, 2 … is on its way, which then arrives, until there is
// no such message.
void die_at_each_message(context& c, session& direct, direction way) {
  toll all;
  inquest found(c, direct, all);
  bool at_commit = false;
  for (std::size_t i = 0; i < most_steps; ++i) {
    cut_wire wire(c);
    auto& between = wire.between();
    auto const key = std::string(to_string(way)) + " " + std::to_string(i);
    auto const op = c.make_operation(key);
    wire.arm_next({.way = way, .action = fault_action::hold, .index = i, .matches = is_operation});
    auto const end =
        c.must(c.mortal_worker({"die", "--key", key, "--port", std::to_string(between.port())},
                               [&] { return between.await_fired(milliseconds(5)); }),
               key + ": the worker runs");
    bool const fired = between.fired();
    between.release();
    at_commit = at_commit || (end.killed && fell_at_commit(between));
    found.hold(op, key, end);
    if (fired) continue;
    c.check(!end.killed && all.kills > 0 && at_commit,
            key + ": processes died before, one of them with COMMIT or its answer on its way");
    c.log(std::string(to_string(way)) + ": " + all.shown());
    return;
  }
  c.require(false, "an operation ends before message " + std::to_string(most_steps));
}

// CRS-02
void client_killed(context& c) {
  auto& direct = c.connect();
  die_at_each_step(c, direct);
  die_in_the_files(c, direct);
  if (!c.engine().declared().contains(capability::wire)) return;
  for (auto const way : {direction::to_server, direction::to_client})
    die_at_each_message(c, direct, way);
}

}  // namespace

std::span<scenario const> crash_scenarios() {
  static constexpr scenario all[] = {
      {"CRS-02", client_killed, capability::processes, no_second_process},
  };
  return all;
}

}  // namespace idem::inline v1::conformance
