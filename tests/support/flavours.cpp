// SPDX-License-Identifier: BSL-1.0
#include <functional>

#include "tests/support/scripted_server.h"

namespace idem_test {

namespace {

using idem::claim_conflict;
using idem::transaction_witness;

flavour like_postgresql() {
  flavour f;
  f.name = "postgresql";
  f.facts.witness = transaction_witness::save;
  f.facts.pipelines = true;
  f.facts.save_fails_in_server = true;
  f.facts.failed_statement_aborts_transaction = true;
  return f;
}

flavour like_mysql() {
  flavour f;
  f.name = "mysql";
  f.facts.conflict = claim_conflict::unique_violation;
  f.savepoint_names_move = true;
  return f;
}

flavour like_sqlserver() {
  flavour f;
  f.name = "sqlserver";
  f.facts.conflict = claim_conflict::unique_violation;
  f.facts.witness = transaction_witness::save;
  f.facts.save_fails_in_server = true;
  return f;
}

flavour like_oracle() {
  flavour f;
  f.name = "oracle";
  f.facts.conflict = claim_conflict::unique_violation;
  f.facts.pipelines = true;
  f.savepoint_names_move = true;
  f.empty_is_null = true;
  return f;
}

flavour like_sqlite() {
  flavour f;
  f.name = "sqlite";
  f.facts.look_before_claim = true;
  f.facts.binds_clock = true;
  f.facts.claim_wait_names_identity = false;
  f.guards_commit = true;
  f.lock_at_begin = true;
  return f;
}

flavour like_cluster() {
  flavour f = like_mysql();
  f.name = "cluster";
  f.facts.claim_proves_absence = false;
  return f;
}

struct change {
  char const* name;
  void (*make)(flavour&);
};

constexpr change changes[] = {
    {"conflict",
     [](flavour& f) {
       f.facts.conflict = f.facts.conflict == claim_conflict::no_row
                              ? claim_conflict::unique_violation
                              : claim_conflict::no_row;
     }},
    {"witness",
     [](flavour& f) {
       f.facts.witness = f.facts.witness == transaction_witness::save
                             ? transaction_witness::savepoint
                             : transaction_witness::save;
     }},
    {"pipelines", [](flavour& f) { f.facts.pipelines = !f.facts.pipelines; }},
    {"save_fails",
     [](flavour& f) { f.facts.save_fails_in_server = !f.facts.save_fails_in_server; }},
    {"look", [](flavour& f) { f.facts.look_before_claim = !f.facts.look_before_claim; }},
    {"clock", [](flavour& f) { f.facts.binds_clock = !f.facts.binds_clock; }},
    {"names_identity",
     [](flavour& f) { f.facts.claim_wait_names_identity = !f.facts.claim_wait_names_identity; }},
    {"proves_absence",
     [](flavour& f) { f.facts.claim_proves_absence = !f.facts.claim_proves_absence; }},
    {"guards", [](flavour& f) { f.guards_commit = !f.guards_commit; }},
    {"aborts",
     [](flavour& f) {
       f.facts.failed_statement_aborts_transaction = !f.facts.failed_statement_aborts_transaction;
     }},
    {"begin_locks", [](flavour& f) { f.lock_at_begin = !f.lock_at_begin; }},
    {"savepoints", [](flavour& f) { f.savepoint_names_move = !f.savepoint_names_move; }},
};

bool can_exist(flavour const& f) {
  // A failed claim that aborts its transaction could not be followed by the winner's read.
  if (f.facts.failed_statement_aborts_transaction &&
      f.facts.conflict == claim_conflict::unique_violation)
    return false;
  // The one family whose failed statement aborts (PostgreSQL's) nests savepoints of one name.
  // https://www.postgresql.org/docs/15/sql-savepoint.html
  if (f.facts.failed_statement_aborts_transaction && f.savepoint_names_move) return false;
  // One writer for the whole database: a wait there can be for any of them, and ends them all.
  if (f.lock_at_begin && f.facts.claim_wait_names_identity) return false;
  return !f.lock_at_begin || f.facts.claim_proves_absence;
}

}  // namespace

std::vector<flavour> const& engine_flavours() {
  static std::vector<flavour> const engines{like_postgresql(), like_mysql(),  like_sqlserver(),
                                            like_oracle(),     like_sqlite(), like_cluster()};
  return engines;
}

std::vector<flavour> const& all_flavours() {
  static std::vector<flavour> const all = [] {
    std::vector<flavour> made = engine_flavours();
    for (auto const& engine : engine_flavours()) {
      for (auto const& [name, make] : changes) {
        flavour changed = engine;
        make(changed);
        changed.name += std::string(", other ") + name;
        if (can_exist(changed)) made.push_back(std::move(changed));
      }
    }
    return made;
  }();
  return all;
}

}  // namespace idem_test
