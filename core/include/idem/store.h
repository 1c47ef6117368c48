// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <idem/observer.h>
#include <idem/outcome.h>
#include <idem/record.h>
#include <idem/request.h>
#include <idem/retry.h>
#include <idem/session.h>
#include <idem/transaction.h>

namespace idem::inline v1 {

/// What an effect answers when it did not fail.
using answer = std::variant<response, refusal>;

namespace detail {

template <class T>
inline constexpr bool is_answer =
    std::same_as<T, response> || std::same_as<T, refusal> || std::same_as<T, answer> ||
    std::same_as<T, result<response>> || std::same_as<T, result<refusal>> ||
    std::same_as<T, result<answer>>;

[[nodiscard]] inline result<answer> as_answer(answer a) { return a; }
template <class T>
[[nodiscard]] result<answer> as_answer(result<T> r) {
  if (!r) return std::unexpected(std::move(r).error());
  return answer(std::move(*r));
}

/// An effect without its type: a view, valid during the call it is passed to.
class effect_ref {
 public:
  template <class F>
    requires(!std::same_as<F, effect_ref>)  // else it would be chosen to copy one
  explicit effect_ref(F& f)
      : object_(const_cast<void*>(static_cast<void const*>(std::addressof(f)))),
        call_([](void* object, transaction& tx) -> result<answer> {
          return as_answer((*static_cast<F*>(object))(tx));
        }) {}
  [[nodiscard]] result<answer> operator()(transaction& tx) const { return call_(object_, tx); }

 private:
  void* object_;
  result<answer> (*call_)(void*, transaction&);
};

struct store_core;
struct claim_access;

}  // namespace detail

/// The caller's writes: called with the open transaction by the one that claimed, and again
/// from the start if the transaction is. Returns a `response`, a `refusal`, either of them
/// (`answer`), or a `result` of one of these.
template <class F>
concept effect = std::invocable<F&, transaction&> &&
                 detail::is_answer<std::remove_cvref_t<std::invoke_result_t<F&, transaction&>>>;

/// An effect that is known before the operation begins: its statements, with `?` placeholders,
/// and the response that is stored if none of them fails. What they depend on must be in the
/// statements: one that matches no row is a success. The statements are a view and must outlive the
/// call.
struct fixed_effect {
  std::span<statement const> statements;
  idem::response response;
};

/// What becomes of a refusal.
enum class refusal_policy : std::uint8_t {
  roll_back,  ///< nothing is stored: the next call runs the effect again
  store,      ///< the effect's writes are undone and the refusal is the response
};

struct store_options {
  std::string schema;            ///< empty: the dialect's default
  std::string prefix = "idem_";  ///< before each table's name
  std::size_t max_response_bytes = std::size_t{16} << 20;
  idem::observer* observer = nullptr;  ///< must outlive the store
  /// How long a record is kept at least, from its save.
  std::chrono::seconds retention = std::chrono::hours(24 * 30);
};

struct run_options {
  refusal_policy refusals = refusal_policy::roll_back;
  idem::isolation isolation = isolation::engine_default;
  /// How long the claim waits for another transaction. Zero: not at all.
  std::chrono::milliseconds wait_limit{5000};
  /// For the whole run, retries and resolve included.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop;
  retry_policy retry;
  /// Store the canonical request beside its fingerprint, for audit.
  bool store_canonical_request = false;
  fingerprint_version write_version = current_fingerprint_version;
};

struct claim_options {
  std::chrono::milliseconds wait_limit{5000};
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop;
  bool store_canonical_request = false;
  fingerprint_version write_version = current_fingerprint_version;
};

/// An identity taken inside an open transaction. Move-only. Dropped without
/// `store::complete`, it dooms a transaction that idem began: its commit is refused.
class claim_token {
 public:
  claim_token(claim_token&&) noexcept;
  claim_token& operator=(claim_token&&) noexcept;
  ~claim_token();

  /// To be kept by a caller who owns the commit: see `store::resolve`. Stays when the token is
  /// used up.
  attempt_id const& attempt() const noexcept;

 private:
  friend struct detail::claim_access;
  struct content;
  explicit claim_token(std::unique_ptr<content>);
  attempt_id attempt_;
  std::unique_ptr<content> content_;
};

using claim_result = std::variant<claim_token, replayed, mismatched, in_progress>;

/// How an incomplete record is repaired.
struct settle_as_executed {
  idem::response response;  ///< what later calls replay
};
struct settle_discard {};  ///< the key is free again
using settlement = std::variant<settle_as_executed, settle_discard>;

/// The protocol over one set of tables. Copyable, immutable after `open`, safe to share
/// between threads; every session it is given must speak the same dialect.
class store {
 public:
  /// Checks options and the installed schema's version.
  /// Errors: `invalid_argument`, `schema_missing`, `schema_newer`, and what reading gives.
  [[nodiscard]] static result<store> open(session&, store_options = {});
  [[nodiscard]] static result<store> open(session_source&, store_options = {});

  /// One operation: claim, effect, save, commit; the whole transaction again after a
  /// transient error; and, when the answer to COMMIT is lost, the finding out.
  ///
  /// What the effect throws rolls back and passes through unchanged, unless it hides a
  /// transient error. Where the effect had ended the transaction by itself, so that its writes
  /// may stay, the answer is the error `transaction_replaced`, in doubt, and what it threw is in
  /// `native.message`. Errors: see `errc`; each says what is known of the effect. An error
  /// with `certainty::in_doubt` carries the attempts to resolve.
  ///
  /// A session that is found dead before anything was sent is discarded and costs no attempt.
  /// When the last attempt ends in doubt, the record is looked for once more, without the effect.
  template <effect F>
  [[nodiscard]] result<outcome> run(session_source& source, request const& r, F&& f,
                                    run_options const& options = {}) const {
    if constexpr (std::is_function_v<std::remove_reference_t<F>>) {
      auto* function = &f;
      return run_erased(source, r, detail::effect_ref(function), options);
    } else {
      return run_erased(source, r, detail::effect_ref(f), options);
    }
  }

  /// As `run`, with an effect that is known beforehand: where the session can (PostgreSQL), in one
  /// round trip, a replay's and a mismatch's answer included; elsewhere as `run` does it.
  /// There a statement that begins or ends a transaction or a savepoint, PREPARE and COPY are
  /// refused with `invalid_argument`; elsewhere an effect may do what it may in `run`. What is in
  /// doubt is found out by calling this again: it may be `unproven` for `resolve` (see
  /// `attempt_id::travels_whole`). `response_too_large` comes before anything is sent. The time
  /// that the claim waited is not told to the observer.
  [[nodiscard]] result<outcome> run_fixed(session_source&, request const&, fixed_effect const&,
                                          run_options const& = {}) const;

  /// Takes the identity inside the caller's transaction. Every outcome is provisional until
  /// that transaction is committed. A replay or mismatch leaves it usable.
  /// Errors: `claim_open` for an identity that this transaction has claimed and not yet
  /// completed; `transaction_aborted` and the transient errors where the engine ended the
  /// transaction; `read_only`; `incomplete`; `record_invisible`; `fingerprint_unknown`.
  [[nodiscard]] result<claim_result> claim(transaction&, request const&,
                                           claim_options const& = {}) const;

  /// Saves the response in the same transaction. Uses up the token; on an error the
  /// transaction is doomed. Where a savepoint is the witness, savepoints that the caller made
  /// after the claim end here. Nothing looks at the transaction again: whoever ends it between
  /// this and the commit, and begins another (ROLLBACK AND CHAIN), commits that one instead.
  /// Errors: `response_too_large`, `transaction_replaced`, `save_unmatched`.
  [[nodiscard]] result<attempt_id> complete(transaction&, claim_token&&, response const&) const;

  /// The record that the session sees: committed, on an idle session; inside a transaction its
  /// own uncommitted one too.
  [[nodiscard]] result<std::optional<record>> find(session&, identity const&,
                                                   call_limits const& = {}) const;

  /// What became of attempts whose COMMIT is in doubt. Give it an idle session on another
  /// connection, to a primary that accepts writes.
  [[nodiscard]] result<resolution> resolve(session&, request const&, std::span<attempt_id const>,
                                           call_limits const& = {}) const;

  /// Repairs a record that was committed without a response. False if there is none.
  /// Errors: `invalid_argument` if the record is complete.
  [[nodiscard]] result<bool> settle(session&, identity const&, settlement const&,
                                    call_limits const& = {}) const;

 private:
  explicit store(std::shared_ptr<detail::store_core const>);
  [[nodiscard]] result<outcome> run_erased(session_source&, request const&, detail::effect_ref,
                                           run_options const&) const;
  std::shared_ptr<detail::store_core const> core_;
};

}  // namespace idem::inline v1
