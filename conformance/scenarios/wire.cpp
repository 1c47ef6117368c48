// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/wire.h"

#include <algorithm>
#include <utility>

#include "conformance/scenarios/answers.h"

namespace idem::inline v1::conformance {

namespace {

wire_place place_of(context& c) {
  auto place = c.engine().wire();
  c.require(place.has_value(), "the subject says where its server listens");
  return std::move(*place);
}

}  // namespace

cut_wire::cut_wire(context& c)
    : context_(c),
      place_(place_of(c)),
      relay_(c.must(
          relay::start({.host = place_.host, .port = place_.port, .protocol = place_.protocol}),
          "the relay starts")) {}

result<std::unique_ptr<session>> cut_wire::connect(call_limits const& limits) {
  auto opened = context_.engine().connect_by(relay_.port(), limits);
  if (!opened) return opened;
  return context_.idem().adapt(std::move(*opened));
}

std::unique_ptr<session_pool> cut_wire::sessions(std::size_t most) {
  return std::make_unique<session_pool>(
      [this](call_limits const& limits) { return connect(limits); }, most);
}

std::unique_ptr<session_pool> cut_wire::only_session() {
  auto once =
      [this, used = false](call_limits const& limits) mutable -> result<std::unique_ptr<session>> {
    if (!std::exchange(used, true)) return connect(limits);
    error e;
    e.what = errc::connection_failed;
    e.phase = phase::connect;
    e.message = "there is no second connection";
    return std::unexpected(std::move(e));
  };
  return std::make_unique<session_pool>(std::move(once), 1);
}

void cut_wire::arm_next(fault_plan plan) {
  plan.connection = relay_.accepted();
  relay_.arm(std::move(plan));
}

run_options one_attempt(std::chrono::milliseconds patience) {
  run_options o;
  o.retry.max_attempts = 1;
  o.deadline = std::chrono::steady_clock::now() + patience;
  return o;
}

namespace {

void cut_each(context& c, cut_wire& wire, direction way, fault_action action, caller const& call_by,
              cut_tally& all) {
  constexpr std::size_t most_messages = 500;
  auto& direct = c.connect();
  for (std::size_t i = 0; i < most_messages; ++i) {
    auto const what = std::string(to_string(action)) + " " + std::string(to_string(way)) + " " +
                      std::to_string(i);
    auto const op = c.make_operation(what);
    auto const sessions = wire.only_session();
    wire.arm_next({.way = way, .action = action, .index = i});
    auto const called = call_by(*sessions, op, one_attempt());
    bool const fired = wire.between().fired();
    c.check(fired || called.is<executed>(),
            what + ": a call that nothing befell is executed; it was: " + called.name());
    aftermath after(c, direct, op, called);
    after.check(what);
    ++all.cases;
    if (after.in_doubt()) ++(after.committed() ? all.doubtful_committed : all.doubtful_not);
    if (!fired) return;
  }
  c.require(false, "a run ends before message " + std::to_string(most_messages));
}

}  // namespace

cut_tally cut_everywhere(context& c, caller const& call_by) {
  cut_wire wire(c);
  cut_tally all;
  for (auto const way : {direction::to_server, direction::to_client})
    for (auto const action : {fault_action::cut_rst, fault_action::cut_fin})
      cut_each(c, wire, way, action, call_by, all);
  c.log(std::to_string(all.cases) + " runs, in doubt and committed " +
        std::to_string(all.doubtful_committed) + ", in doubt and not " +
        std::to_string(all.doubtful_not));
  if (all.doubtful_committed > 0) c.mark("in_doubt_and_committed");
  if (all.doubtful_not > 0) c.mark("in_doubt_and_not_committed");
  return all;
}

aftermath::aftermath(context& c, session& direct, operation const& op, call const& made)
    : context_(c),
      direct_(direct),
      op_(op),
      call_(made),
      in_doubt_(!made.answered && made.answered.error().certainty == certainty::in_doubt) {}

// An attempt that travelled whole: only another one that commits can keep it from arriving.
void aftermath::check_unproven(std::string const& what) {
  auto& c = context_;
  auto const& attempts = call_.answered.error().attempts;
  c.check(std::ranges::any_of(attempts, &attempt_id::travels_whole),
          what + ": what is unproven may still be on its way");
  auto const again = c.run(direct_, op_);
  committed_ = again.is<replayed>();
  c.check(committed_ || again.is<executed>(),
          what + ": the next call finds it or executes it; it was: " + again.name());
  c.check_stored(op_, 1, true);
}

void aftermath::check(std::string const& what) {
  auto& c = context_;
  auto& s = direct_;
  if (in_doubt_) {
    auto const found = c.idem().resolve(s, op_.request, call_.answered.error().attempts);
    if (!c.check(found.has_value(), what + ": what is in doubt can be resolved")) return;
    committed_ = std::holds_alternative<resolved::executed>(*found);
    if (std::holds_alternative<resolved::unproven>(*found)) return check_unproven(what);
    c.check(committed_ || std::holds_alternative<resolved::absent>(*found),
            what + ": it is executed, or proven absent");
  } else {
    committed_ = call_.is<executed>();
  }
  std::size_t const rows = committed_ ? 1 : 0;
  c.check(c.ledger_rows(op_).size() == rows,
          what + ": the effect is there as was said, which was: " + call_.name());
  c.check(c.has_record(op_) == committed_, what + ": the record is there as was said");
  auto const again = c.run(s, op_);
  c.check(committed_ ? again.is<replayed>() : again.is<executed>(),
          what + ": the next call is told the same; it was: " + again.name());
  c.check_stored(op_, 1, true);
}

}  // namespace idem::inline v1::conformance
