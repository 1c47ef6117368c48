// SPDX-License-Identifier: BSL-1.0
// Both ends of a worker process: `context` starts it, `worker_main` is its body.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <idem/conformance/suite.h>

#include "conformance/mortality.h"
#include "conformance/process.h"

namespace idem::inline v1::conformance {

namespace {
constexpr char const* worker_target_variable = "IDEM_WORKER_TARGET";
}

result<std::string> context::worker(std::vector<std::string> arguments) {
  return std::move(workers({std::move(arguments)}).front());
}

result<child_process> context::start_worker(std::vector<std::string> own) {
  auto command = worker_;
  for (std::string part :
       {std::string("--scope"), scope_, std::string("--seed"), std::to_string(random_()),
        std::string("--saboteur"), saboteur_.empty() ? "none" : saboteur_})
    command.push_back(std::move(part));
  std::ranges::move(own, std::back_inserter(command));
  // A URL can hold a password, and everybody can read a command line.
  return child_process::start(command,
                              std::string(worker_target_variable) + "=" + subject_.worker_target());
}

result<worker_end> context::mortal_worker(std::vector<std::string> arguments,
                                          std::function<bool()> const& dies) {
  auto child = start_worker(std::move(arguments));
  if (!child) return std::unexpected(std::move(child).error());
  auto ended = child->end(dies);
  if (!ended) return std::unexpected(std::move(ended).error());
  return worker_end{ended->killed, std::move(ended->output)};
}

std::vector<result<std::string>> context::workers(std::vector<std::vector<std::string>> arguments) {
  std::vector<result<child_process>> started;
  for (auto& own : arguments) started.push_back(start_worker(std::move(own)));
  std::vector<result<std::string>> outputs;
  for (auto& child : started) {
    if (child)
      outputs.push_back(child->output());
    else
      outputs.push_back(std::unexpected(std::move(child).error()));
  }
  return outputs;
}

namespace {

class worker {
 public:
  worker(subject_factory factory, std::vector<std::string> const& arguments) : factory_(factory) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].starts_with("--") && i + 1 < arguments.size()) {
        options_[arguments[i].substr(2)] = arguments[i + 1];
        ++i;
      } else {
        task_ = arguments[i];
      }
    }
  }

  result<std::string> work() {
    char const* target = std::getenv(worker_target_variable);
    auto made = factory_(target == nullptr ? "" : target);
    if (!made) return std::unexpected(std::move(made).error());
    subject_ = std::move(*made);
    auto opened = subject_->connect();
    if (!opened) return std::unexpected(std::move(opened).error());
    auto id = subject_->session_id(**opened);
    if (!id) return std::unexpected(std::move(id).error());
    auto store = store::open(**opened, {subject_->names().schema, subject_->names().prefix});
    if (!store) return std::unexpected(std::move(store).error());
    contract_ = make_contract(std::move(*store));
    if (auto const* s = find_saboteur(options_["saboteur"]))
      contract_ = s->make(std::move(contract_), *subject_);
    if (task_ == "die") return die(std::move(*opened));
    auto session = contract_->adapt(std::move(*opened));
    if (task_ == "many") many(*session);
    if (task_ == "run")
      for (int i = 0, n = number("count", 1); i < n; ++i) one(*session, options_["key"]);
    return out_ + "pid " + std::to_string(getpid()) + " session " + *id + "\n";
  }

 private:
  int number(std::string const& name, int otherwise) const {
    auto const place = options_.find(name);
    int n = otherwise;
    if (place != options_.end())
      std::from_chars(place->second.data(), place->second.data() + place->second.size(), n);
    return n;
  }

  void many(session& s) {
    std::vector<int> order(static_cast<std::size_t>(number("keys", 1)));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(std::stoull(options_["seed"]));
    std::ranges::shuffle(order, random);
    for (int i : order) one(s, options_["prefix"] + std::to_string(i));
  }

  // One operation, on a session by the wire where a port is given. What is said at once is known
  // of a process that dies.
  result<std::string> die(std::unique_ptr<session> opened) {
    if (auto const port = number("port", 0); port > 0) {
      auto by = subject_->connect_by(static_cast<std::uint16_t>(port));
      if (!by) return std::unexpected(std::move(by).error());
      opened = std::move(*by);
    }
    auto id = subject_->session_id(*opened);
    if (!id) return std::unexpected(std::move(id).error());
    say_at_once("session " + *id);
    auto& life = life_.emplace(static_cast<std::size_t>(number("step", 0)),
                               static_cast<std::size_t>(number("write", 0)));
    auto const watched = subject_->watch_writes([&life] { life.reach_write(); });
    if (!watched && watched.error().what != errc::unsupported)
      return std::unexpected(watched.error());
    auto const s = contract_->adapt(stepping(std::move(opened), life));
    context c(*subject_, *contract_, options_["scope"]);
    auto const op = c.make_operation(options_["key"]);
    life.begin();
    auto const called = c.run(*s, op, [&](transaction& tx) {
      life.reach("as the effect begins");
      auto answered = c.standard_effect(op)(tx);
      life.reach("as the effect ends");
      return answered;
    });
    life.reach("after the answer");
    life.end();
    return "told " + called.name() + "\nbody " + called.body() + "\nsteps " +
           std::to_string(life.steps()) + "\nwrites " +
           (watched ? std::to_string(life.writes()) : "unseen") + "\n";
  }

  void one(session& s, std::string const& key) {
    context c(*subject_, *contract_, options_["scope"]);
    auto const payload = options_.contains("payload") ? options_["payload"] : "payload";
    auto const op = c.make_operation(key, payload);
    call const called = c.run(s, op);
    auto const what = c.history().back().what;
    std::string const body = called.body().empty() ? "-" : called.body();
    out_ += key + " " + std::string(to_string(what)) + " " + body + " " +
            std::to_string(c.body_calls()) + "\n";
  }

  std::optional<mortality> life_;  // a subject's writes may look at it to the end
  subject_factory factory_;
  std::map<std::string, std::string> options_;
  std::string task_;
  std::unique_ptr<subject> subject_;
  std::unique_ptr<contract> contract_;
  std::string out_;
};

}  // namespace

int worker_main(subject_factory factory, std::vector<std::string> const& arguments,
                std::string& output) {
  auto worked = worker(factory, arguments).work();
  output = worked ? std::move(*worked) : describe(worked.error()) + "\n";
  return worked ? 0 : 3;
}

}  // namespace idem::inline v1::conformance
