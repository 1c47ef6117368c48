// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <idem/conformance/contract.h>

namespace idem::inline v1::conformance {

/// A contract that spoils what goes in (identity, content) or what comes out (a stored answer),
/// or judges content by a rule of its own. The members below do nothing unless overridden.
class spoiled_contract : public contract_decorator {
 public:
  using contract_decorator::contract_decorator;

  result<request> from_bytes(identity_parts, std::optional<std::string_view>) override;
  result<request> from_fields(identity_parts, std::span<field const>) override;
  result<request> from_json(identity_parts, std::string_view, json_options) override;
  result<outcome> run(session_source&, request const&, effect_function const&,
                      run_options const&) override;
  result<claim_result> claim(transaction&, request const&, claim_options const&) override;
  result<std::optional<record>> find(session&, identity const&) override;
  result<resolution> resolve(session&, request const&, std::span<attempt_id const>) override;

 protected:
  /// What is kept of a text: of an identity's part, and, unless said otherwise, of the content.
  virtual std::string kept(std::string_view text) const { return std::string(text); }
  virtual std::string kept_part(std::string_view part) const { return kept(part); }
  virtual std::optional<std::string> kept_content(std::optional<std::string_view>) const;
  /// Spoils an answer that comes from a record.
  virtual void spoil(response&) const {}
  /// Takes content that the real one tells apart, or cannot compare, for the same.
  virtual bool takes_for_same(fingerprint const& /*stored*/, request const&) const { return false; }

 private:
  std::optional<replayed> second_look(session&, request const&);
};

}  // namespace idem::inline v1::conformance
