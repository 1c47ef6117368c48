// SPDX-License-Identifier: BSL-1.0
#include "tests/support/claim_unit.h"

namespace idem_test {

claim_unit::claim_unit(scripted_world& w, idem::store const& s, unit_owner o)
    : session(w), store_(s), owner_(o) {}

void claim_unit::fail(idem::error const& e) {
  if (!end.failure) end.failure = e;
}

bool claim_unit::begin() {
  if (owner_ == unit_owner::caller) {
    if (auto begun = session.begin({}); !begun) {
      fail(begun.error());
      return false;
    }
  }
  auto begun = owner_ == unit_owner::idem ? idem::transaction::begin(session)
                                          : idem::transaction::adopt(session);
  if (!begun) {
    fail(begun.error());
    return false;
  }
  tx = std::move(*begun);
  return true;
}

std::optional<idem::claim_token> claim_unit::claim(idem::request const& r) {
  auto claimed = store_.claim(*tx, r);
  if (!claimed) {
    fail(claimed.error());
    expect(claimed.error().certainty == idem::certainty::not_executed,
           "a failed claim is 'not executed'");
    return std::nullopt;
  }
  if (auto* token = std::get_if<idem::claim_token>(&*claimed)) {
    end.claimed.push_back(token->attempt());
    return std::move(*token);
  }
  if (auto const* r0 = std::get_if<idem::replayed>(&*claimed)) {
    end.replayed = true;
    expect(r0->response == the_response(), "replayed another response");
  }
  if (std::holds_alternative<idem::mismatched>(*claimed)) end.mismatched = true;
  if (std::holds_alternative<idem::in_progress>(*claimed)) end.in_progress = true;
  return std::nullopt;
}

bool claim_unit::complete(idem::claim_token token, idem::response const& r) {
  auto completed = store_.complete(*tx, std::move(token), r);
  if (!completed) {
    fail(completed.error());
    return false;
  }
  end.completed.push_back(*completed);
  return true;
}

bool claim_unit::write(char const* what) {
  auto written = tx->execute("EFFECT ?", {what});
  if (!written) fail(written.error());
  return written.has_value();
}

void claim_unit::commit() {
  auto committed = owner_ == unit_owner::idem ? tx->commit() : session.commit({}, {});
  if (committed) {
    end.committed = true;
    return;
  }
  end.commit_error = committed.error();
  // What idem's own transaction says by itself, a caller with its own COMMIT keeps.
  if (owner_ == unit_owner::caller) end.commit_error->attempts = end.claimed;
}

void claim_unit::roll_back() {
  if (owner_ == unit_owner::idem && tx)
    (void)tx->rollback();
  else
    (void)session.rollback();
}

}  // namespace idem_test
