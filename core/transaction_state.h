// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <idem/identity.h>
#include <idem/transaction.h>

#include "core/lent_session.h"

namespace idem::inline v1::detail {

/// Who ends a transaction.
enum class transaction_owner : std::uint8_t {
  self,    ///< the idem::transaction object
  run,     ///< `store::run`: the effect may not
  caller,  ///< adopted: someone outside idem
};

/// Where the savepoint is that witnesses the open claims.
enum class savepoint_place : std::uint8_t {
  at_claim,      ///< where the first of them was made
  after_a_save,  ///< set anew after writes: going back to it undoes too little
  gone,          ///< released by a save and not set anew
};

/// What a transaction object, the tokens claimed in it and `run` share.
struct transaction_state {
  idem::session* session = nullptr;
  /// What an effect is given in its place.
  std::optional<lent_session> lent;
  idem::observer* observer = nullptr;
  transaction_owner owner = transaction_owner::self;
  call_limits limits;
  bool ended = false;
  /// Why it may not be committed.
  std::optional<error> doomed;
  /// The first error seen by `execute` after which the whole transaction must be run again.
  std::optional<error> restart_cause;
  /// Did the server end the transaction with the last error that `execute` met? Some engines
  /// do, and it is not the effect that ended it then. Not asked of a guarded session.
  std::optional<bool> ended_by_failure;
  std::vector<identity> open_claims;
  savepoint_place savepoint = savepoint_place::at_claim;
  std::vector<attempt_id> completed;

  void doom(error why);
  void forget_claim(identity const&);
  void note_failure(error const&);
  result<> rollback();
  void report(std::string_view where, error const&) noexcept;

  /// True if whatever ended this transaction under us may have committed it.
  bool may_have_committed() const noexcept {
    return owner == transaction_owner::caller || !session->guards_commit();
  }

  static transaction make(std::shared_ptr<transaction_state>);
  static std::shared_ptr<transaction_state> const& of(transaction const&);
};

/// Why a transaction may not be committed: `transaction_aborted`, and nothing of it stays.
error aborted(std::string message);

}  // namespace idem::inline v1::detail
