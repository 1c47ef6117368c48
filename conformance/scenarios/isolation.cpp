// SPDX-License-Identifier: BSL-1.0
// ISO: what the session's transaction is, by the server's word.
#include <array>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/held.h"
#include "conformance/scenarios/isolation_parts.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

namespace {

// ISO-11
struct transaction_view {
  std::string after_claim;
  std::string after_write;
  bool has_record = false;
  bool has_effect = false;

  bool is_one() const { return !after_claim.empty() && after_claim == after_write; }
};

call run_viewed(context& c, session& s, operation const& op, bool answers, transaction_view& view) {
  return c.run(s, op, [&](transaction& tx) -> result<answer> {
    auto& own = tx.session();
    view.after_claim = c.engine().transaction_id(own).value_or("");
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    view.after_write = c.engine().transaction_id(own).value_or("");
    view.has_record =
        c.engine().record_row(own, op.request.identity()).value_or(std::nullopt).has_value();
    view.has_effect = sees_effect(c, tx, op);
    if (!answers) return declined();
    return answer(c.response_with(std::move(*nonce)));
  });
}

void check_view(context& c, transaction_view const& view) {
  if (c.check(view.is_one(), "the server has one transaction open between claim and effect"))
    c.mark("open_between_statements");
  c.check(view.has_record && view.has_effect, "record and effect are in it");
}

void one_transaction(context& c) {
  auto& s = c.connect();
  check_idle(c, s, "before the first call: its statements would commit one by one");
  auto const op = c.make_operation("one transaction");
  transaction_view failed;
  check_failed(c, run_viewed(c, s, op, false, failed), errc::statement_failed,
               "a call whose effect fails");
  check_view(c, failed);
  c.check_stored(op, 0, false);
  check_idle(c, s, "after the failed call");
  transaction_view done;
  check_executed(c, run_viewed(c, s, op, true, done), "the next call");
  check_view(c, done);
  c.check_stored(op, 1, true);
  check_idle(c, s, "after the call");
}

constexpr std::array all{
    scenario{"ISO-01", every_level, std::nullopt, nullptr},
    scenario{"ISO-02", absent_in_snapshot, capability::snapshot, no_old_snapshot},
    scenario{"ISO-03", late_to_the_snapshot, capability::snapshot, no_old_snapshot},
    scenario{"ISO-04", commit_conflicts, capability::commit_conflict, nothing_to_conflict_with},
    scenario{"ISO-05", nothing_uncommitted, std::nullopt, nullptr},
    scenario{"ISO-06", level_as_found, std::nullopt, nullptr},
    scenario{"ISO-11", one_transaction, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> isolation_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
