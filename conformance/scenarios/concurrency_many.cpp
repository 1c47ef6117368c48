// SPDX-License-Identifier: BSL-1.0
// CON, with many callers: workers, processes, and two sessions in every order.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/concurrency_parts.h"
#include "conformance/scenarios/interleavings.h"

namespace idem::inline v1::conformance {

namespace {

using clock = std::chrono::steady_clock;

// CON-02
constexpr std::size_t worker_count = 8, key_count = 200;

struct timed_call {
  std::string name;
  std::string body;
  clock::time_point began;
  clock::time_point ended;
};

// What the workers share. The first wrong answer stops all of them: a store that is broken may
// keep them waiting for ever.
class shared_work {
 public:
  std::barrier<> together{static_cast<std::ptrdiff_t>(worker_count)};

  std::stop_token stop() const { return stop_.get_token(); }
  void judge(std::size_t key, call const& called) {
    bool const once = called.is<executed>() && ++executed_[key] == 1;
    if (once || called.is<replayed>()) return;
    std::scoped_lock const lock(mutex_);
    if (wrong_.empty())
      wrong_ = "key " + std::to_string(key) + " was " + called.name() +
               (called.is<executed>() ? " a second time" : "");
    stop_.request_stop();
  }
  std::string wrong() const {
    std::scoped_lock const lock(mutex_);
    return wrong_;
  }

 private:
  std::array<std::atomic<int>, key_count> executed_{};
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::string wrong_;
};

struct worker_task {
  session* own = nullptr;
  std::mt19937_64 random;
  std::vector<timed_call> calls;

  void pause() {
    std::uniform_int_distribution<int> microseconds(0, 300);
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
  }
  timed_call call_one(context& c, operation const& op, std::size_t key, shared_work& work) {
    run_options options;
    options.wait_limit = std::chrono::seconds(30);
    options.stop = work.stop();
    // The pauses inside keep the transaction open long enough to be met by the others.
    auto const effect = [&](transaction& tx) -> result<answer> {
      pause();
      auto answered = c.standard_effect(op)(tx);
      pause();
      return answered;
    };
    auto const began = clock::now();
    auto const called = c.run(*own, op, effect, options);
    work.judge(key, called);
    return {called.name(), called.body(), began, clock::now()};
  }
  // Who is slow to get a lock would fall behind and meet nobody: every few keys all wait for
  // the last one.
  void call_all(context& c, std::vector<operation> const& operations, shared_work& work) {
    constexpr std::size_t keys_apart = 3;
    for (std::size_t key = 0; key < key_count && !work.stop().stop_requested(); ++key) {
      if (key % keys_apart == 0) work.together.arrive_and_wait();
      pause();
      calls.push_back(call_one(c, operations[key], key, work));
    }
    work.together.arrive_and_drop();
  }
};

std::vector<worker_task> run_workers(context& c, std::vector<operation> const& operations) {
  shared_work work;
  std::vector<worker_task> tasks(worker_count);
  for (auto& task : tasks) {
    task.own = &c.connect();
    task.random.seed(c.random()());
  }
  std::vector<std::jthread> threads;
  for (auto& task : tasks) threads.emplace_back([&] { task.call_all(c, operations, work); });
  threads.clear();
  c.require(work.wrong().empty(),
            "each call is executed, once a key, or replayed; " + work.wrong());
  return tasks;
}

bool overlap(timed_call const& a, timed_call const& b) {
  return a.began < b.ended && b.began < a.ended;
}

// A key is contended if another call for it was under way during the one that executed.
bool contended(std::vector<worker_task> const& tasks, std::size_t key) {
  for (auto const& winner : tasks)
    for (auto const& other : tasks)
      if (&winner != &other && winner.calls[key].name == "executed" &&
          overlap(winner.calls[key], other.calls[key]))
        return true;
  return false;
}

struct answer_counts {
  std::size_t executed = 0;
  std::size_t replayed = 0;
  std::set<std::string> bodies;
};

void check_each_key(context& c, std::vector<operation> const& operations,
                    std::vector<worker_task> const& tasks) {
  std::size_t executed = 0, contended_keys = 0;
  for (std::size_t key = 0; key < key_count; ++key) {
    answer_counts counts;
    for (auto const& task : tasks) {
      counts.executed += task.calls[key].name == "executed" ? 1 : 0;
      counts.replayed += task.calls[key].name == "replayed" ? 1 : 0;
      counts.bodies.insert(task.calls[key].body);
    }
    executed += counts.executed;
    contended_keys += contended(tasks, key) ? 1 : 0;
    c.check(counts.executed == 1 && counts.replayed == worker_count - 1,
            "one call is executed, the others are replayed: " + std::to_string(counts.executed) +
                " and " + std::to_string(counts.replayed));
    c.check(counts.bodies.size() == 1, "all get the same answer");
    c.check(c.body_calls(operations[key]) == 1, "the effect runs once");
  }
  c.check(executed == key_count, "executed is told once a key: " + std::to_string(executed));
  c.log(std::to_string(contended_keys) + " of " + std::to_string(key_count) +
        " keys were contended");
  if (contended_keys * 5 >= key_count) c.mark("fifth_of_keys_contended");
}

}  // namespace

// CON-02
void many_workers(context& c) {
  std::vector<operation> operations;
  for (std::size_t i = 0; i < key_count; ++i)
    operations.push_back(c.make_operation("key-" + std::to_string(i)));
  auto const tasks = run_workers(c, operations);
  check_each_key(c, operations, tasks);
  c.check(c.ledger_size() == static_cast<std::int64_t>(key_count),
          "the ledger has one row a key: " + std::to_string(c.ledger_size()));
}

namespace {

// CON-10
struct process_report {
  std::string pid;
  std::string session;
  std::vector<std::array<std::string, 3>> calls;  // key, what it was told, body
};

process_report parse(std::string const& output) {
  process_report report;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, third, fourth;
    words >> first >> second >> third >> fourth;
    if (first == "pid") {
      report.pid = second;
      report.session = fourth;
    } else {
      report.calls.push_back({first, second, third});
    }
  }
  return report;
}

std::optional<told> parse_told(std::string_view text) {
  for (auto what : {told::executed, told::replayed, told::refused, told::refusal_stored,
                    told::mismatched, told::in_progress, told::failed, told::unknown})
    if (to_string(what) == text) return what;
  return std::nullopt;
}

constexpr std::size_t process_count = 4, process_keys = 100;

std::vector<process_report> start_processes(context& c) {
  // The same seed, so the same order: they meet at the keys that none has executed yet.
  std::vector<std::string> const task{"many",    "--keys", std::to_string(process_keys), "--prefix",
                                      "shared-", "--seed", std::to_string(c.random()())};
  std::vector<process_report> reports;
  for (auto& output : c.workers(std::vector(process_count, task)))
    reports.push_back(parse(c.must(std::move(output), "a worker process ends well")));
  return reports;
}

void check_process_answers(context& c, std::vector<process_report> const& reports) {
  std::map<std::string, int> executed;
  std::size_t answered = 0;
  for (auto const& report : reports)
    for (auto const& [key, what, body] : report.calls) {
      auto const known = parse_told(what);
      c.note(c.make_operation(key), known.value_or(told::failed), body);
      answered += known == told::executed || known == told::replayed ? 1 : 0;
      executed[key] += known == told::executed ? 1 : 0;
    }
  c.check(answered == process_count * process_keys,
          "every call is executed or replayed: " + std::to_string(answered));
  for (std::size_t i = 0; i < process_keys; ++i) {
    auto const key = "shared-" + std::to_string(i);
    c.check(executed[key] == 1, key + " is executed by one process");
    c.check_stored(c.make_operation(key), 1, true);
  }
}

}  // namespace

// CON-10
void four_processes(context& c) {
  auto const reports = start_processes(c);
  std::set<std::string> pids, sessions;
  for (auto const& report : reports) {
    pids.insert(report.pid);
    sessions.insert(report.session);
    auto const executed =
        std::ranges::count_if(report.calls, [](auto const& call) { return call[1] == "executed"; });
    c.log("process " + report.pid + " executed " + std::to_string(executed) + " keys");
  }
  if (c.check(pids.size() == process_count && !pids.contains(""), "each worker is a process"))
    c.mark("four_processes");
  if (c.check(sessions.size() == process_count && !sessions.contains(""),
              "each has a session of its own"))
    c.mark("four_sessions");
  check_process_answers(c, reports);
  // The workers' effects are not of this process: its own replay shows that they count here.
  auto const own = c.run(c.connect(), c.make_operation("shared-0"));
  c.check(own.is<replayed>(), "this process is answered by theirs; it was: " + own.name());
  check_executed(c, c.run(c.connect(), c.make_operation("own")), "a key of this process");
}

// A record that another process could see would be replayed there.
void no_other_process(context& c) {
  auto const op = c.make_operation("here");
  check_executed(c, c.run(c.connect(), op), "the call in this process");
  c.check_stored(op, 1, true);
  auto const output = c.worker({"run", "--key", "here", "--payload", "payload"});
  if (!output) {
    c.log("the other process cannot use the database: " + describe(output.error()));
    return;
  }
  auto const report = parse(*output);
  c.check(!report.calls.empty(), "the other process has called");
  for (auto const& [key, what, body] : report.calls)
    c.check(what != "replayed", "the other process does not see the record");
  c.check_stored(op, 1, true);
}

namespace {

// CON-13
struct sides {
  stepper a;
  stepper b;
  stepper& operator[](char name) { return name == 'A' ? a : b; }
};

struct expectation {
  char second;  ///< whose step may have to wait
  step waits;   ///< which step
  bool must_wait;
};

// The rule, without an engine's name: where writers of other keys do not wait for each other,
// the claim of a key that is held waits; elsewhere it is the beginning of any transaction.
expectation expected(context& c, schedule const& s) {
  bool const concurrent = c.engine().declared().contains(capability::concurrent_writers);
  step const contended = concurrent ? step::claim : step::begin;
  char const first = place_of(s, 'A', contended) < place_of(s, 'B', contended) ? 'A' : 'B';
  char const second = first == 'A' ? 'B' : 'A';
  return {second, contended, place_of(s, second, contended) < place_of(s, first, step::commit)};
}

bool play(schedule const& s, sides& both) {
  std::map<char, std::size_t> given;
  for (char const name : s) {
    step const next = all_steps[given[name]++];
    both[name].give(next);
    // A commit waits for nothing that this schedule could do; what waited for it then goes on.
    bool const ends = next == step::commit && both[name].blocked().empty();
    if (!(ends ? both[name].await_done() : both[name].await_settled())) return false;
    char const other = name == 'A' ? 'B' : 'A';
    if (ends && !both[other].await_done()) return false;
  }
  return both['A'].await_done() && both['B'].await_done();
}

std::string describe_blocked(sides& both) {
  std::string text;
  for (char const name : {'A', 'B'}) {
    for (step const s : both[name].blocked())
      text.append(" ").append(1, name).append(".").append(to_string(s));
    if (both[name].repeated()) text.append(" ").append(1, name).append(" repeated");
  }
  return text;
}

bool check_class(context& c, schedule const& s, sides& both) {
  auto const rule = expected(c, s);
  auto const& blocked = both[rule.second].blocked();
  bool const waited = std::ranges::find(blocked, rule.waits) != blocked.end();
  // An engine that lets both go on and refuses one at the end is right as well.
  for (char const name : {'A', 'B'})
    if (auto const e = both[name].failed_for_good())
      return c.check(false, s + ": " + std::string(1, name) + " fails for good: " + describe(*e));
  bool const as_ruled = rule.must_wait ? waited || both[rule.second].repeated()
                                       : !waited && !both[rule.second].repeated();
  if (waited) c.mark("step_blocked");
  return c.check(as_ruled, s + ": " + std::string(1, rule.second) + "." +
                               std::string(to_string(rule.waits)) +
                               (rule.must_wait ? " waits" : " does not wait"));
}

bool check_schedule(context& c, schedule const& s, sides& both) {
  auto const op = c.make_operation(s);
  both.a.start(op);
  both.b.start(op);
  if (!c.check(play(s, both), s + ": every step comes to an end")) return false;
  both.a.repeat_until_answered();
  both.b.repeat_until_answered();
  c.log(s + describe_blocked(both));
  auto const a = both.a.what(), b = both.b.what();
  bool const one_each =
      (a == told::executed && b == told::replayed) || (a == told::replayed && b == told::executed);
  bool ok = c.check(one_each, s + ": one is executed, the other replayed; they were " +
                                  std::string(to_string(a)) + " and " + std::string(to_string(b)));
  auto const effects = c.ledger_rows(op).size();
  ok = c.check(effects == 1 && c.has_record(op),
               s + ": one effect row and one record; effects: " + std::to_string(effects)) &&
       ok;
  return check_class(c, s, both) && ok;
}

}  // namespace

void every_interleaving(context& c) {
  constexpr std::size_t most_failures = 3;
  auto const schedules = all_schedules();
  sides both{{c, c.connect()}, {c, c.connect()}};
  std::size_t played = 0, failed = 0;
  for (auto const& s : schedules) {
    ++played;
    if (!check_schedule(c, s, both)) ++failed;
    c.require(failed < most_failures, "fewer than three schedules fail");
  }
  if (c.check(played == 252, "252 schedules are played: " + std::to_string(played)))
    c.mark("all_252_played");
}

}  // namespace idem::inline v1::conformance
