// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <idem/identity.h>
#include <idem/transaction.h>

namespace idem::inline v1::detail {

/// Who ends a transaction.
enum class transaction_owner : std::uint8_t {
  self,    ///< the idem::transaction object
  run,     ///< `store::run`: the effect may not
  caller,  ///< adopted: someone outside idem
};

/// What a transaction object, the tokens claimed in it and `run` share.
struct transaction_state {
  idem::session* session = nullptr;
  idem::observer* observer = nullptr;
  transaction_owner owner = transaction_owner::self;
  call_limits limits;
  bool ended = false;
  /// Why it may not be committed.
  std::optional<error> doomed;
  /// The first error seen by `execute` after which the whole transaction must be run again.
  std::optional<error> restart_cause;
  std::vector<identity> open_claims;
  /// The witness savepoint was set anew after a write: going back to it undoes too little.
  bool savepoint_moved = false;
  std::vector<attempt_id> completed;

  void doom(error why);
  void forget_claim(identity const&);
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
