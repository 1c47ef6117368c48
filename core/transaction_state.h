// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  std::vector<attempt_id> completed;

  void doom(error why);
  void forget_claim(identity const&);
  result<> rollback();
  void report(std::string_view where, error const&) noexcept;

  static transaction make(std::shared_ptr<transaction_state>);
  static std::shared_ptr<transaction_state> const& of(transaction const&);
};

}  // namespace idem::inline v1::detail
