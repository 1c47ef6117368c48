// SPDX-License-Identifier: BSL-1.0
// `run_fixed` on a session that can send a whole operation in one round trip.
#include <utility>

#include "core/run.h"

namespace idem::inline v1::detail {

// Nothing: the session cannot, and was sent nothing.
std::optional<result<outcome>> run_operation::in_one_trip(session& s) {
  claim_input const input{&request_, attempt_, options_.write_version,
                          options_.store_canonical_request};
  call_limits const waiting{options_.deadline, options_.stop, options_.wait_limit};
  auto sent = send_whole(core_, s, input, options_.isolation, *fixed_, waiting);
  if (!sent && sent.error().what == errc::unsupported) return std::nullopt;
  sent_ = sent.has_value();
  if (!sent) {
    bool const refused = sent.error().what == errc::invalid_argument;
    return at(std::move(sent).error(), refused ? phase::validate : phase::begin,
              certainty::not_executed);
  }
  if (!sent->failure) return outcome(executed{fixed_->response, attempt_});
  return not_committed(std::move(*sent->failure), std::move(sent->other));
}

result<outcome> run_operation::not_committed(error e, std::optional<record> const& other) {
  if (e.certainty == certainty::in_doubt) {
    if (e.what != errc::transaction_replaced) doubt_commit(e);
    return std::unexpected(std::move(e));
  }
  if (e.phase != phase::claim || other) suspect_.reset();
  if (e.phase != phase::claim) effect_started_ = true;
  // Nothing of this attempt stays, and the record is the truth, whatever kept this one from it.
  if (other) return judge_winner(*other);
  if (e.phase != phase::claim) return std::unexpected(std::move(e));
  if (e.what == errc::unique_violation) return not_visible();
  if (waited_for_identity(core_, e)) return outcome(in_progress{});
  return std::unexpected(std::move(e));
}

}  // namespace idem::inline v1::detail
