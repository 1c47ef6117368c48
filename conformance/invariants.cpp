// SPDX-License-Identifier: BSL-1.0
// What the observer reads, and the invariants I1 to I6 that hold after every scenario.
#include <algorithm>
#include <set>
#include <utility>

#include <idem/conformance/context.h>
#include "conformance/digest.h"

namespace idem::inline v1::conformance {

std::vector<ledger_row> context::ledger_rows(operation const& op) {
  auto all = must(subject_.ledger(*observer_), "the observer reads the ledger");
  std::erase_if(all, [&](ledger_row const& row) { return row.tag != op.tag; });
  return all;
}

std::int64_t context::ledger_size() {
  return static_cast<std::int64_t>(
      must(subject_.ledger(*observer_), "the observer reads the ledger").size());
}

std::optional<std::string> context::record_row(operation const& op) {
  return must(subject_.record_row(*observer_, op.request.identity()),
              "the observer reads the record");
}

void context::check_stored(operation const& op, std::size_t effects, bool record,
                           std::source_location where) {
  auto const rows = ledger_rows(op).size();
  check(rows == effects,
        "effect rows: " + std::to_string(rows) + ", must be " + std::to_string(effects), where);
  bool const found = has_record(op);
  check(found == record,
        std::string("the record is ") + (found ? "present" : "absent") + ", must be " +
            (record ? "present" : "absent"),
        where);
}

// I6: records that no operation of the scenario touches.
void context::plant_canaries() {
  for (std::string_view const name : {"canary-1", "canary-2"}) {
    operation op = make_operation(name);
    auto const planted =
        store::open(*observer_, {subject_.names().schema, subject_.names().prefix});
    lone_session source(*observer_);
    auto ran = must(planted, "the store opens").run(source, op.request, [](transaction&) {
      return response{200, {}, "c"};
    });
    require(ran.has_value(), "a canary is planted");
    auto row = record_row(op);
    require(row.has_value(), "a canary is found");
    canaries_.push_back({std::move(op), std::move(*row)});
  }
}

// I1, I2, I3 for one identity.
void context::check_history_of(std::string const& tag) {
  std::size_t answered = 0, unknown = 0, refusals = 0;
  std::set<std::string> bodies;
  for (auto const& entry : history_) {
    if (entry.tag != tag) continue;
    bool const has_body = entry.what == told::executed || entry.what == told::replayed;
    answered += has_body ? 1 : 0;
    if (has_body) bodies.insert(entry.body);
    unknown += entry.what == told::unknown ? 1 : 0;
    refusals += entry.what == told::refusal_stored ? 1 : 0;
  }
  auto const all = must(subject_.ledger(*observer_), "the observer reads the ledger");
  auto const rows = std::ranges::count(all, tag, &ledger_row::tag);
  bool const record =
      must(subject_.record_row(*observer_, identities_.at(tag)), "the observer reads the record")
          .has_value();
  std::string const name = "identity " + tag.substr(0, 8);
  if (answered > 0)
    check(rows == 1, "I1 " + name + ": answered, so 1 effect row, found " + std::to_string(rows));
  else if (unknown > 0)
    check(rows <= 1,
          "I1 " + name + ": in doubt, so at most 1 effect row, found " + std::to_string(rows));
  else
    check(rows == 0,
          "I1 " + name + ": never answered, so no effect row, found " + std::to_string(rows));
  if (refusals > 0)
    check(record && rows == 0, "I2 " + name + ": a stored refusal is a record without effect");
  else
    check(record == (rows > 0), "I2 " + name + ": record and effect are there together");
  check(bodies.size() <= 1, "I3 " + name + ": every answer is the same");
  if (bodies.size() == 1 && rows == 1) {
    auto const row = std::ranges::find(all, tag, &ledger_row::tag);
    check(row->nonce == *bodies.begin(), "I3 " + name + ": the answer is the effect's nonce");
  }
}

// I5, and that the observer is nobody's session.
void context::check_sessions() {
  for (auto& s : sessions_) {
    auto open = subject_.transaction_id(*s);
    check(open && open->empty(), "I5 no session is left in a transaction");
  }
  auto const own = must(subject_.session_id(*observer_), "the server names the observer");
  check(!session_ids_.contains(own), "the observer's session is its own");
}

void context::check_invariants() {
  own_checks_ = checks_.size();
  std::set<std::string> tags;
  for (auto const& entry : history_) tags.insert(entry.tag);
  for (auto const& tag : tags) check_history_of(tag);
  auto const all = must(subject_.ledger(*observer_), "the observer reads the ledger");
  std::int64_t sum = 0;
  for (auto const& row : all) sum += row.amount;
  auto const balance = must(subject_.balance(*observer_), "the observer reads the balance");
  check(balance == sum, "I4 the balance is the sum of the ledger");
  for (auto const& c : canaries_) {
    auto const row = record_row(c.op);
    check(row && *row == c.row, "I6 an untouched record is untouched");
  }
  check_sessions();
}

}  // namespace idem::inline v1::conformance
