// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include <idem/observer.h>
#include <idem/session.h>

namespace idem::inline v1 {

namespace detail {
struct transaction_state;
}

/// An open transaction: what an effect is given, and what `store::claim` works in.
///
/// Move-only, one thread at a time. The session must outlive it.
class transaction {
 public:
  /// Opens one on an idle session. Destroyed without `commit`, it is rolled back.
  /// Errors: `session_not_idle`, and what the session's begin gives; `not_executed`.
  [[nodiscard]] static result<transaction> begin(session&, begin_options const& = {},
                                                 observer* = nullptr);

  /// Works in the transaction that the session has open. The caller commits it by its own
  /// means, so every outcome reached in it is provisional until then; `commit` and `rollback`
  /// are `unsupported`. With `wanted` other than the engine's default the level is asked for
  /// by `begin` only and cannot be adopted: `isolation_mismatch`.
  /// Errors: `transaction_not_open`, `transaction_aborted`, `session_not_idle`; `unsupported` for
  /// the session that an effect was lent, which has a transaction object already.
  [[nodiscard]] static result<transaction> adopt(session&, observer* = nullptr,
                                                 isolation wanted = isolation::engine_default);

  transaction(transaction&&) noexcept;
  transaction& operator=(transaction&&) noexcept;
  ~transaction();

  /// Runs one statement with `?` placeholders (none inside literals or comments), whatever
  /// the engine's own are.
  /// Errors: the dialect's meaning of the server's error, `phase::effect`; and
  /// `transaction_aborted` or `transaction_replaced`, nothing sent, when this transaction can
  /// take no more statements. A transient error seen here makes `run` start the transaction
  /// again even if the effect goes on.
  [[nodiscard]] result<rows> execute(std::string_view sql, std::initializer_list<parameter> = {});
  [[nodiscard]] result<rows> execute(std::string_view sql, std::span<parameter const>);

  /// As the protocol's COMMIT: success only if the server said so; else the error's certainty
  /// is `rolled_back` or `in_doubt`, and `attempts` are those completed in it.
  /// Refused (and rolled back) with `transaction_aborted` if a claim was dropped or not
  /// completed, and with `unsupported` for a transaction that `run` or the caller owns.
  [[nodiscard]] result<> commit();

  /// Ends it. Success if it is already ended.
  [[nodiscard]] result<> rollback();

  /// The session underneath, for the driver's own handle.
  idem::session& session() const noexcept;

 private:
  friend class store;
  friend struct detail::transaction_state;
  explicit transaction(std::shared_ptr<detail::transaction_state>);
  std::shared_ptr<detail::transaction_state> state_;
};

}  // namespace idem::inline v1
