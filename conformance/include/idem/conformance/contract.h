// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <idem/store.h>

namespace idem::inline v1::conformance {

using effect_function = std::function<result<answer>(transaction&)>;

/// What a scenario calls: idem's promise as a user meets it. The real one forwards to
/// `idem::store`; a saboteur is a decorator that breaks one thing.
class contract {
 public:
  contract() = default;
  contract(contract const&) = delete;
  contract& operator=(contract const&) = delete;
  virtual ~contract() = default;

  [[nodiscard]] virtual result<request> from_bytes(identity_parts,
                                                   std::optional<std::string_view>) = 0;
  [[nodiscard]] virtual result<request> from_fields(identity_parts, std::span<field const>) = 0;
  [[nodiscard]] virtual result<request> from_json(identity_parts, std::string_view,
                                                  json_options) = 0;
  [[nodiscard]] virtual result<fingerprint> fingerprint_of(request const&, fingerprint_version) = 0;

  [[nodiscard]] virtual result<outcome> run(session_source&, request const&, effect_function const&,
                                            run_options const&) = 0;
  [[nodiscard]] virtual result<outcome> run_fixed(session_source&, request const&,
                                                  fixed_effect const&, run_options const&) = 0;
  [[nodiscard]] virtual result<claim_result> claim(transaction&, request const&,
                                                   claim_options const&) = 0;
  [[nodiscard]] virtual result<attempt_id> complete(transaction&, claim_token&&,
                                                    response const&) = 0;
  [[nodiscard]] virtual result<std::optional<record>> find(session&, identity const&) = 0;
  [[nodiscard]] virtual result<resolution> resolve(session&, request const&,
                                                   std::span<attempt_id const>) = 0;
  [[nodiscard]] virtual result<bool> settle(session&, identity const&, settlement const&) = 0;

  /// Every session that operations use passes through here; the observer's do not.
  virtual std::unique_ptr<session> adapt(std::unique_ptr<session> s) { return s; }
};

/// The real one, over an opened store.
std::unique_ptr<contract> make_contract(store);

/// Forwards everything to another: what saboteurs derive from.
class contract_decorator : public contract {
 public:
  explicit contract_decorator(std::unique_ptr<contract> real) : real_(std::move(real)) {}

  [[nodiscard]] result<request> from_bytes(identity_parts,
                                           std::optional<std::string_view>) override;
  [[nodiscard]] result<request> from_fields(identity_parts, std::span<field const>) override;
  [[nodiscard]] result<request> from_json(identity_parts, std::string_view, json_options) override;
  [[nodiscard]] result<fingerprint> fingerprint_of(request const&, fingerprint_version) override;
  [[nodiscard]] result<outcome> run(session_source&, request const&, effect_function const&,
                                    run_options const&) override;
  [[nodiscard]] result<outcome> run_fixed(session_source&, request const&, fixed_effect const&,
                                          run_options const&) override;
  [[nodiscard]] result<claim_result> claim(transaction&, request const&,
                                           claim_options const&) override;
  [[nodiscard]] result<attempt_id> complete(transaction&, claim_token&&, response const&) override;
  [[nodiscard]] result<std::optional<record>> find(session&, identity const&) override;
  [[nodiscard]] result<resolution> resolve(session&, request const&,
                                           std::span<attempt_id const>) override;
  [[nodiscard]] result<bool> settle(session&, identity const&, settlement const&) override;
  std::unique_ptr<session> adapt(std::unique_ptr<session>) override;

 protected:
  contract& real() noexcept { return *real_; }

 private:
  std::unique_ptr<contract> real_;
};

/// Forwards everything to another session: what saboteurs on the port derive from.
class session_decorator : public session {
 public:
  explicit session_decorator(std::unique_ptr<session> real) : real_(std::move(real)) {}

  dialect const& sql() const noexcept override { return real_->sql(); }
  [[nodiscard]] result<transaction_status> status() override { return real_->status(); }
  [[nodiscard]] result<> begin(begin_options const& o) override { return real_->begin(o); }
  [[nodiscard]] result<> commit(std::span<statement const> last, call_limits const& l) override {
    return real_->commit(last, l);
  }
  [[nodiscard]] result<> rollback() noexcept override { return real_->rollback(); }
  [[nodiscard]] result<std::vector<rows>> execute(std::span<statement const> s,
                                                  call_limits const& l) override {
    return real_->execute(s, l);
  }
  [[nodiscard]] result<whole_answer> run_whole(whole_transaction const& t,
                                               call_limits const& l) override {
    return real_->run_whole(t, l);
  }
  [[nodiscard]] result<> reset() noexcept override { return real_->reset(); }
  void* native_handle() noexcept override { return real_->native_handle(); }
  std::optional<error> pending_error() noexcept override { return real_->pending_error(); }
  bool guards_commit() const noexcept override { return real_->guards_commit(); }

  session& real() noexcept { return *real_; }

 private:
  std::unique_ptr<session> real_;
};

/// The session below all decorators: the one that the subject's `connect` gave. Touches nothing
/// that a call of another thread uses.
session& innermost(session&) noexcept;

}  // namespace idem::inline v1::conformance
