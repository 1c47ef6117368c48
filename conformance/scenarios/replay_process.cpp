// SPDX-License-Identifier: BSL-1.0
// RPL-02 and RPL-03: the answer outlives the session, the process and the server that gave it.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/replay_parts.h"

namespace idem::inline v1::conformance {

namespace {

struct worker_line {
  std::string key;
  std::string told;
  std::string body;
  int body_calls = 0;
};

struct worker_report {
  std::vector<worker_line> lines;
  std::string pid;
  std::string session;
};

// Lines of four words, then "pid P session S".
worker_report parse(std::string const& output) {
  worker_report report;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::vector<std::string> const all{std::istream_iterator<std::string>(words), {}};
    if (all.size() != 4) continue;
    if (all[0] == "pid") {
      report.pid = all[1];
      report.session = all[3];
    } else {
      report.lines.push_back({all[0], all[1], all[2], std::atoi(all[3].c_str())});
    }
  }
  return report;
}

std::vector<worker_report> two_workers(context& c, std::vector<std::string> const& arguments) {
  std::vector<worker_report> reports;
  for (auto& output : c.workers({arguments, arguments}))
    reports.push_back(parse(c.must(std::move(output), "a worker process ends well")));
  return reports;
}

told as_told(std::string const& word) {
  for (auto t : {told::executed, told::replayed, told::mismatched, told::in_progress})
    if (to_string(t) == word) return t;
  return told::failed;
}

void check_processes(context& c, std::vector<worker_report> const& reports) {
  std::set<std::string> const pids{std::to_string(getpid()), reports[0].pid, reports[1].pid};
  std::set<std::string> const sessions{
      c.must(c.engine().session_id(c.observer()), "the server names the observer"),
      reports[0].session, reports[1].session};
  if (c.check(pids.size() == 3, "the workers are processes of their own"))
    c.mark("other_processes");
  c.check(sessions.size() == 3, "the workers have sessions of their own");
}

// Another session of this process.
call replay_on_second_session(context& c, operation const& op) {
  auto& here = c.connect();
  auto& there = c.connect();
  auto const ids = std::pair(c.must(c.engine().session_id(here), "the server names the first"),
                             c.must(c.engine().session_id(there), "the server names the second"));
  if (c.check(ids.first != ids.second, "the sessions are two")) c.mark("other_session");
  auto const first = c.run(here, op);
  check_executed(c, first, "the call on the first session");
  check_replayed(c, c.run(there, op), first, "the call on the second session");
  return first;
}

void replay_in_workers(context& c, operation const& op, call const& first) {
  auto const reports = two_workers(c, {"run", "--key", "shared", "--count", "2"});
  check_processes(c, reports);
  for (auto const& report : reports) {
    c.check(report.lines.size() == 2, "a worker reports its two calls");
    for (auto const& line : report.lines) {
      c.note(op, as_told(line.told), line.body);
      c.check(line.told == "replayed" && line.body == first.body() && line.body_calls == 0,
              "the worker's call is replayed without its effect; it was: " + line.told);
    }
  }
}

// Two processes take new keys in the same order, so that whoever is behind catches up and they
// meet; this one asks for all of them later.
void first_calls_in_workers(context& c) {
  constexpr int keys = 60;
  auto const reports =
      two_workers(c, {"many", "--prefix", "met-", "--keys", std::to_string(keys), "--seed", "1"});
  std::map<std::string, std::vector<worker_line>> by_key;
  for (auto const& report : reports)
    for (auto const& line : report.lines) by_key[line.key].push_back(line);
  c.check(by_key.size() == keys, "the workers report every key");
  auto& s = c.connect();
  for (auto const& [key, lines] : by_key) {
    auto const op = c.make_operation(key);
    for (auto const& line : lines) c.note(op, as_told(line.told), line.body);
    auto const count = [&](std::string_view what) {
      return std::ranges::count(lines, what, &worker_line::told);
    };
    c.check(count("executed") == 1 && count("replayed") == 1,
            key + " is executed by one process and replayed by the other");
    auto const here = c.run(s, op);
    c.check(here.is<replayed>() && here.body() == lines.front().body,
            key + " is replayed here; it was: " + here.name());
    c.check(c.body_calls(op) == 0, key + " has no effect here");
  }
}

}  // namespace

void replay_elsewhere(context& c) {
  auto const op = c.make_operation("shared");
  auto const first = replay_on_second_session(c, op);
  replay_in_workers(c, op, first);
  c.check_stored(op, 1, true);
  first_calls_in_workers(c);
}

// Where the database is this process's own, a second process must not find our record: if it
// did, the engine could show the scenario and has to declare it.
void no_second_process(context& c) {
  auto const op = c.make_operation("shared");
  auto const first = replay_on_second_session(c, op);
  auto const output = c.worker({"run", "--key", "shared"});
  c.check(output || output.error().what == errc::statement_failed,
          "another process is started and tries");
  auto const report = output ? parse(*output) : worker_report{};
  bool const replays = !report.lines.empty() && report.lines.front().body == first.body();
  c.check(!replays, "another process cannot see this database");
  c.check_stored(op, 1, true);
}

namespace {

// An operation whose effect is done and whose transaction is open, until `release`.
class open_operation {
 public:
  open_operation(context& c, session& s, operation const& op) {
    thread_ = std::jthread([this, &c, &s, op] {
      effect_function const effect = [&](transaction& tx) -> result<answer> {
        auto nonce = c.write_effect(tx, op);
        written_ = true;
        go_on_.wait(false);
        if (!nonce) return std::unexpected(std::move(nonce).error());
        return answer(c.response_with(*nonce));
      };
      name_ = c.run(s, op, effect).name();
      ended_ = true;
    });
  }
  ~open_operation() { release(); }

  bool reached() const { return written_ || ended_; }
  bool written() const { return written_; }
  std::string release() {
    go_on_ = true;
    go_on_.notify_all();
    if (thread_.joinable()) thread_.join();
    return name_;
  }

 private:
  std::atomic<bool> written_ = false, ended_ = false, go_on_ = false;
  std::string name_;
  std::jthread thread_;
};

}  // namespace

void replay_after_restart(context& c) {
  auto const kept = c.make_operation("kept");
  auto const open = c.make_operation("open");
  auto const first = c.run(c.connect(), kept);
  check_executed(c, first, "the first call");
  auto const before = c.record_row(kept);
  auto own = c.idem().adapt(c.must(c.engine().connect(), "a session is opened"));
  open_operation in_flight(c, *own, open);
  c.check(c.await([&] { return in_flight.reached(); }) && in_flight.written(),
          "an effect has written and is not committed");
  c.restart();
  std::string const ended = in_flight.release();
  c.check(ended.starts_with("error "), "the call in flight fails; it was: " + ended);
  auto const status = own->status();
  if (!status || *status == transaction_status::unknown) c.mark("sessions_lost");
  c.check_stored(open, 0, false);
  auto& s = c.connect();
  check_replayed(c, c.run(s, kept), first, "the call after the restart");
  c.check(c.body_calls(kept) == 1 && before && c.record_row(kept) == before,
          "the record is as it was");
  check_executed(c, c.run(s, open), "the call that was in flight, asked again");
  c.check_stored(open, 1, true);
}

// An engine inside this process has no server. What the scenario would show is then shown by
// nothing, and the subject has to say so.
void no_restart(context& c) {
  auto const op = c.make_operation("kept");
  auto const first = c.run(c.connect(), op);
  check_executed(c, first, "the first call");
  auto const restarted = c.engine().restart();
  c.check(!restarted && restarted.error().what == errc::unsupported,
          "the engine has no server that could be restarted");
  check_replayed(c, c.run(c.connect(), op), first, "a call on a later connection");
}

}  // namespace idem::inline v1::conformance
