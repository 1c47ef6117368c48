// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/wire.h"

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

void cut_wire::arm_next(fault_plan plan) {
  plan.connection = relay_.accepted();
  relay_.arm(std::move(plan));
}

aftermath::aftermath(context& c, session& direct, operation const& op, call const& made)
    : context_(c),
      direct_(direct),
      op_(op),
      call_(made),
      in_doubt_(!made.answered && made.answered.error().certainty == certainty::in_doubt) {}

void aftermath::check(std::string const& what) {
  auto& c = context_;
  auto& s = direct_;
  if (in_doubt_) {
    auto const found = c.idem().resolve(s, op_.request, call_.answered.error().attempts);
    if (!c.check(found.has_value(), what + ": what is in doubt can be resolved")) return;
    committed_ = std::holds_alternative<resolved::executed>(*found);
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
