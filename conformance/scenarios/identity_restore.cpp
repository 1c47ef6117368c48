// SPDX-License-Identifier: BSL-1.0
// IDC-17: the records outlive a move to a database in which texts compare otherwise.
#include <algorithm>
#include <array>
#include <utility>

#include <idem/conformance/suite.h>
#include <idem/schema.h>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/identity_parts.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::array<std::string_view, 10> near_texts{"order-i",
                                                      "ORDER-I",
                                                      "order-\xC4\xB1",
                                                      "ORDER-\xC4\xB0",
                                                      "ord\xC3\xA9r-i",
                                                      "order-i ",
                                                      "stra\xC3\x9F"
                                                      "e",
                                                      "strasse",
                                                      "a\xCC\x8A",
                                                      "\xC3\xA5"};

std::unique_ptr<contract> open_there(context& c, session& there, table_names const& names) {
  auto store = c.must(store::open(there, {names.schema, names.prefix}), "a store opens there");
  auto real = make_contract(std::move(store));
  auto const* saboteur = find_saboteur(c.saboteur());
  return saboteur == nullptr ? std::move(real) : saboteur->make(std::move(real), c.engine());
}

struct moved {
  context& c;       ///< judges
  context& there;   ///< runs in the new database
  subject& engine;  ///< the new database
  session& s;

  std::size_t rows_of(operation const& op) const {
    auto const all = c.must(engine.ledger(s), "the new ledger is read");
    return static_cast<std::size_t>(std::ranges::count(all, op.tag, &ledger_row::tag));
  }

  void check_old(operation const& op, call const& first) const {
    check_replayed(c, there.run(s, op), first, "an old identity, asked there");
    c.check(rows_of(op) == 0, "and has no effect there");
    auto const other = c.make_operation(op.request.identity().key(), "other content");
    check_mismatched(c, there.run(s, other), "other content of it");
  }
  void check_new(std::string_view text) const {
    auto const op = c.make_operation("new " + std::string(text));
    auto const first = there.run(s, op);
    check_executed(c, first, "a new identity, " + shown(text));
    check_replayed(c, there.run(s, op), first, "it, asked again");
    c.check(rows_of(op) == 1, "it has one effect there");
  }
};

}  // namespace

void records_move(context& c) {
  auto& here = c.connect();
  std::vector<std::pair<operation, call>> old;
  for (auto const text : near_texts) {
    auto const op = c.make_operation(text);
    old.emplace_back(op, c.run(here, op));
    check_executed(c, old.back().second, shown(text) + ", before the move");
  }
  auto const before = c.must(c.engine().default_collation(c.observer()), "the collation is read");
  auto const elsewhere = c.must(c.engine().restored_elsewhere(), "the records are moved");
  {
    auto const own = c.must(elsewhere->connect(), "the new database is connected");
    auto const now = c.must(elsewhere->default_collation(*own), "its collation is read");
    c.log("texts compare by " + before + " here and by " + now + " there");
    if (c.check(now != before, "the new database compares otherwise")) c.mark("other_collation");
    auto const breaches = c.must(schema::verify(*own, elsewhere->names()), "it is verified");
    c.check(breaches.empty(), "its tables are as they must be" +
                                  (breaches.empty() ? std::string() : ": " + breaches.front()));
    auto const idem = open_there(c, *own, elsewhere->names());
    context there(*elsewhere, *idem, c.scope());
    moved const m{c, there, *elsewhere, there.connect()};
    for (auto const& [op, first] : old) m.check_old(op, first);
    for (auto const text : near_texts) m.check_new(text);
  }
}

void nowhere_to_move(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("unmoved");
  auto const first = c.run(s, op);
  check_executed(c, first, "a call");
  auto const elsewhere = c.engine().restored_elsewhere();
  c.check(!elsewhere, "no database of another default collation can be made");
  if (!elsewhere) c.log(describe(elsewhere.error()));
  check_replayed(c, c.run(s, op), first, "the next call");
  c.check_stored(op, 1, true);
}

}  // namespace idem::inline v1::conformance
