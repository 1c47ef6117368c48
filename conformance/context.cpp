// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/context.h>
#include <idem/conformance/kept_statement.h>

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "conformance/digest.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::string_view standard_operation = "debit:v1";
constexpr std::chrono::milliseconds poll_interval{1};
// A scenario that is at it for longer has gone wrong: its calls end then. Under a saboteur that
// is the rule rather than the exception.
constexpr std::chrono::seconds longest_scenario{300};
constexpr std::chrono::seconds longest_sabotage{15};

std::string place_of(std::source_location const& where) {
  std::string_view file = where.file_name();
  if (auto const slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(where.line());
}

struct name_of_outcome {
  std::string_view operator()(executed const&) const { return "executed"; }
  std::string_view operator()(replayed const& r) const {
    return r.was_refusal ? "replayed refusal" : "replayed";
  }
  std::string_view operator()(refused const& r) const {
    return r.stored ? "refused and stored" : "refused";
  }
  std::string_view operator()(mismatched const&) const { return "mismatched"; }
  std::string_view operator()(in_progress const&) const { return "in_progress"; }
};

told classify(result<outcome> const& answered) {
  if (!answered)
    return answered.error().certainty == certainty::in_doubt ? told::unknown : told::failed;
  struct visitor {
    told operator()(executed const&) const { return told::executed; }
    told operator()(replayed const& r) const {
      return r.was_refusal ? told::refusal_stored : told::replayed;
    }
    told operator()(refused const& r) const {
      return r.stored ? told::refusal_stored : told::refused;
    }
    told operator()(mismatched const&) const { return told::mismatched; }
    told operator()(in_progress const&) const { return told::in_progress; }
  };
  return std::visit(visitor{}, *answered);
}

}  // namespace

std::string_view to_string(told t) noexcept {
  switch (t) {
    case told::executed:
      return "executed";
    case told::replayed:
      return "replayed";
    case told::refused:
      return "refused";
    case told::refusal_stored:
      return "refusal_stored";
    case told::mismatched:
      return "mismatched";
    case told::in_progress:
      return "in_progress";
    case told::failed:
      return "failed";
    case told::unknown:
      return "unknown";
  }
  return "?";
}

std::string call::body() const {
  response const* r = nullptr;
  if (auto const* e = get<executed>()) r = &e->response;
  if (auto const* e = get<replayed>()) r = &e->response;
  if (auto const* e = get<refused>()) r = &e->response;
  return r != nullptr ? r->body.value_or("") : "";
}

std::string call::name() const {
  if (answered) return std::string(std::visit(name_of_outcome{}, *answered));
  return "error " + std::string(to_string(answered.error().what));
}

context::context(subject& s, contract& c, std::string scenario_id, std::uint64_t seed,
                 worker_command worker, std::string saboteur)
    : subject_(s),
      contract_(c),
      scenario_id_(std::move(scenario_id)),
      scope_(scenario_id_ + "/" + attempt_id::random().to_string()),
      seed_(seed),
      worker_(std::move(worker)),
      saboteur_(std::move(saboteur)),
      random_(seed),
      deadline_(std::chrono::steady_clock::now() +
                (saboteur_.empty() ? longest_scenario : longest_sabotage)) {
  observer_ = must(subject_.connect(), "the observer connects");
  plant_canaries();
  checks_.clear();
}

context::context(subject& s, contract& c, std::string scope)
    : subject_(s), contract_(c), scenario_id_("worker"), scope_(std::move(scope)), seed_(0) {}

context::~context() = default;

bool context::check(bool ok, std::string what, std::source_location where) {
  std::scoped_lock lock(mutex_);
  checks_.push_back({ok, std::move(what), place_of(where)});
  return ok;
}

void context::require(bool ok, std::string what, std::source_location where) {
  if (!check(ok, std::move(what), where)) throw scenario_stopped{};
}

void context::mark(std::string name) {
  std::scoped_lock lock(mutex_);
  marks_.insert(std::move(name));
}

void context::log(std::string line) {
  std::scoped_lock lock(mutex_);
  lines_.push_back(std::move(line));
}

operation context::make_operation(std::string_view key, std::string_view payload) {
  return make_operation({scope_, standard_operation, key}, payload);
}

operation context::make_operation(identity_parts parts, std::optional<std::string_view> payload) {
  return wrap(must(contract_.from_bytes(parts, payload), "a request is made"));
}

operation context::wrap(idem::request r) {
  std::string tag = tag_of(r.identity());
  std::scoped_lock lock(mutex_);
  identities_.try_emplace(tag, r.identity());
  return {std::move(r), std::move(tag), 1};
}

session& context::connect() {
  auto opened = must(subject_.connect(), "a session is opened");
  session_ids_.insert(must(subject_.session_id(*opened), "the server names the session"));
  sessions_.push_back(contract_.adapt(std::move(opened)));
  return *sessions_.back();
}

session_source& context::make_pool(std::size_t count) {
  auto factory = [this](call_limits const&) -> result<std::unique_ptr<session>> {
    auto opened = subject_.connect();
    if (!opened) return opened;
    auto id = subject_.session_id(**opened);
    if (!id) return std::unexpected(std::move(id).error());
    std::scoped_lock lock(mutex_);
    session_ids_.insert(std::move(*id));
    return contract_.adapt(std::move(*opened));
  };
  pools_.push_back(std::make_unique<session_pool>(factory, count));
  return *pools_.back();
}

call context::noted(operation const& op, result<outcome> answered) {
  call c{std::move(answered)};
  note(op, classify(c.answered), c.body());
  return c;
}

call context::run(session_source& source, operation const& op, effect_function const& effect,
                  run_options const& options) {
  run_options bounded = options;
  bounded.deadline = std::min(options.deadline, deadline_);
  return noted(op, contract_.run(source, op.request, effect, bounded));
}

call context::run(session& s, operation const& op, effect_function const& effect,
                  run_options const& options) {
  lone_session source(s);
  return run(source, op, effect, options);
}

call context::run(session_source& source, operation const& op, run_options const& options) {
  return run(source, op, standard_effect(op), options);
}

call context::run(session& s, operation const& op, run_options const& options) {
  return run(s, op, standard_effect(op), options);
}

call context::run_fixed(session_source& source, operation const& op, run_options const& options,
                        std::optional<fixed_part> last) {
  run_options bounded = options;
  bounded.deadline = std::min(options.deadline, deadline_);
  auto const nonce = make_nonce();
  auto const& d = observer_->sql();
  auto all = subject_.fixed(d, fixed_part::write, {op.tag, nonce, 0, op.amount});
  if (last) std::ranges::move(subject_.fixed(d, *last), std::back_inserter(all));
  std::vector<std::vector<parameter>> bound;
  for (auto const& one : all) bound.push_back(one.parameters());
  std::vector<statement> statements;
  for (std::size_t i = 0; i < all.size(); ++i) statements.push_back({all[i].sql(), bound[i]});
  fixed_effect const effect{statements, response_with(nonce)};
  auto called = noted(op, contract_.run_fixed(source, op.request, effect, bounded));
  if (called.is<executed>()) count_body_call(op);
  return called;
}

call context::run_fixed(session& s, operation const& op, run_options const& options,
                        std::optional<fixed_part> last) {
  lone_session source(s);
  return run_fixed(source, op, options, last);
}

std::string context::make_nonce() {
  return std::to_string(++nonces_) + "-" + attempt_id::random().to_string();
}

effect_function context::standard_effect(operation const& op) {
  return [this, op](transaction& tx) -> result<answer> {
    auto nonce = write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(response_with(std::move(*nonce)));
  };
}

result<std::string> context::write_effect(transaction& tx, operation const& op) {
  count_body_call(op);
  auto nonce = make_nonce();
  auto written = subject_.write(tx, {op.tag, nonce, 0, op.amount});
  if (!written) return std::unexpected(std::move(written).error());
  return nonce;
}

response context::response_with(std::string body) const {
  return {200, {{"content-type", "text/plain"}}, std::move(body)};
}

void context::count_body_call(operation const& op) {
  ++body_calls_;
  std::scoped_lock lock(mutex_);
  ++body_calls_of_[op.tag];
}

int context::body_calls(operation const& op) const {
  auto& self = const_cast<context&>(*this);
  std::scoped_lock lock(self.mutex_);
  auto const place = body_calls_of_.find(op.tag);
  return place == body_calls_of_.end() ? 0 : place->second;
}

void context::note(operation const& op, told what, std::string body) {
  std::scoped_lock lock(mutex_);
  history_.push_back({op.tag, what, std::move(body)});
}

session& context::observer() { return *observer_; }

void context::restart() {
  must(subject_.restart(), "the server is restarted");
  sessions_.clear();
  pools_.clear();
  session_ids_.clear();  // the server may give a name again
  observer_ = must(subject_.connect(), "the observer connects again");
}

bool context::await(std::function<bool()> const& condition, std::chrono::milliseconds limit) {
  auto const until = std::min(std::chrono::steady_clock::now() + limit, deadline_);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(poll_interval);  // the engine's view can only be polled
  }
  return true;
}

}  // namespace idem::inline v1::conformance
