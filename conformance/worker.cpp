// SPDX-License-Identifier: BSL-1.0
// Both ends of a worker process: `context` starts it, `worker_main` is its body.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

#include <idem/conformance/suite.h>

#include "conformance/process.h"

namespace idem::inline v1::conformance {

namespace {
constexpr char const* worker_target_variable = "IDEM_WORKER_TARGET";
}

result<std::string> context::worker(std::vector<std::string> arguments) {
  return std::move(workers({std::move(arguments)}).front());
}

std::vector<result<std::string>> context::workers(std::vector<std::vector<std::string>> arguments) {
  std::vector<result<child_process>> started;
  for (auto& own : arguments) {
    auto command = worker_;
    for (std::string part :
         {std::string("--scope"), scope_, std::string("--seed"), std::to_string(random_()),
          std::string("--saboteur"), saboteur_.empty() ? "none" : saboteur_})
      command.push_back(std::move(part));
    std::ranges::move(own, std::back_inserter(command));
    // A URL can hold a password, and everybody can read a command line.
    started.push_back(child_process::start(
        command, std::string(worker_target_variable) + "=" + subject_.worker_target()));
  }
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
