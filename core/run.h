// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <random>
#include <vector>

#include "core/store_core.h"

namespace idem::inline v1::detail {

error make_error(errc, phase, advice, std::string message);

/// One `store::run`: attempts until there is an answer or no hope. Used once.
class run_operation {
 public:
  /// `fixed`, if there is one, is the effect again: sent in one round trip where a session can.
  run_operation(store_core const&, session_source&, request const&, effect_ref, run_options const&,
                fixed_effect const* fixed = nullptr);
  result<outcome> go();

 private:
  // One attempt, on one session.
  result<session_lease> acquire();
  bool may_replace();
  result<outcome> try_once();
  result<outcome> on_session(session_lease&);
  result<void> preflight(session_lease&);
  std::optional<result<outcome>> look(session&);
  std::optional<result<outcome>> in_one_trip(session&);
  result<outcome> not_committed(error, std::optional<record> const& other);
  result<outcome> in_transaction(session_lease&);

  // Inside the claim's transaction.
  result<outcome> claim_and_run();
  result<outcome> after_claim();
  result<outcome> run_effect();
  result<outcome> effect_failed(error);
  result<outcome> what_stays(error);
  result<outcome> effect_threw();
  result<void> prove_same_transaction(error const& failure);
  result<void> undo_effect();
  result<outcome> too_large(error);
  result<void> check_after_effect();
  result<outcome> refuse(response);
  result<outcome> finish(record_state, response);
  void doubt_commit(error&) const;
  result<outcome> judge_winner(record const&);
  result<outcome> not_visible();
  void claimed() noexcept;

  // Between attempts.
  void notify_wait();
  bool worth_another(error const&) const;
  void remember_doubt(error const&);
  result<void> patience() const;
  result<outcome> last_look(error);
  result<resolution> find_out();
  result<outcome> conclude(error);
  result<outcome> answer_with(outcome);

  store_core const& core_;
  session_source& source_;
  request const& request_;
  effect_ref effect_;
  fixed_effect const* fixed_;
  run_options const& options_;
  observer* observer_;
  call_limits limits_;

  attempt_id attempt_;
  std::vector<attempt_id> attempts_;   ///< all of this run: a record with one of them is ours
  std::optional<error> doubt_;         ///< a COMMIT of this run whose answer is not known
  std::optional<attempt_id> suspect_;  ///< may have been committed by its effect
  std::optional<error> last_;          ///< why the last attempt failed
  std::shared_ptr<transaction_state> state_;  ///< of this attempt
  std::chrono::steady_clock::time_point claim_started_;
  std::optional<response> pending_refusal_;
  std::exception_ptr thrown_;
  bool effect_started_ = false;
  bool sent_ = false;         ///< on this session, something of the operation
  std::size_t replaced_ = 0;  ///< sessions that were dead before
  int invisible_ = 0;
  std::minstd_rand random_;
};

/// Errors: `invalid_argument`, naming the option.
result<> check_run_options(run_options const&);

}  // namespace idem::inline v1::detail
