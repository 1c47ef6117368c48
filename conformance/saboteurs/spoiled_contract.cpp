// SPDX-License-Identifier: BSL-1.0
#include "conformance/saboteurs/spoiled_contract.h"

#include <array>
#include <utility>
#include <vector>

#include <idem/session.h>

namespace idem::inline v1::conformance {

namespace {

// The request's texts, owned for the length of a call.
struct kept_parts {
  std::array<std::string, 3> texts;
  identity_parts view() const { return {texts[0], texts[1], texts[2]}; }
};

template <class Answered>
bool content_differs(result<Answered> const& answered) {
  if (!answered) return answered.error().what == errc::fingerprint_unknown;
  return std::holds_alternative<mismatched>(*answered);
}

}  // namespace

std::optional<std::string> spoiled_contract::kept_content(
    std::optional<std::string_view> bytes) const {
  if (!bytes) return std::nullopt;
  return kept(*bytes);
}

result<request> spoiled_contract::from_bytes(identity_parts id,
                                             std::optional<std::string_view> bytes) {
  kept_parts const parts{{kept_part(id.scope), kept_part(id.operation), kept_part(id.key)}};
  auto const content = kept_content(bytes);
  std::optional<std::string_view> view;
  if (content) view = *content;
  return contract_decorator::from_bytes(parts.view(), view);
}

result<request> spoiled_contract::from_fields(identity_parts id, std::span<field const> fields) {
  kept_parts const parts{{kept_part(id.scope), kept_part(id.operation), kept_part(id.key)}};
  std::vector<field> all(fields.begin(), fields.end());
  for (auto& f : all)
    if (auto* text = std::get_if<std::string>(&f.value)) *text = kept(*text);
  return contract_decorator::from_fields(parts.view(), all);
}

result<request> spoiled_contract::from_json(identity_parts id, std::string_view json,
                                            json_options options) {
  kept_parts const parts{{kept_part(id.scope), kept_part(id.operation), kept_part(id.key)}};
  return contract_decorator::from_json(parts.view(), kept(json), std::move(options));
}

std::optional<replayed> spoiled_contract::second_look(session& s, request const& asked) {
  auto read = contract_decorator::find(s, asked.identity());
  if (!read) return std::nullopt;
  std::optional<record> const& found = *read;
  if (!found || found->state == record_state::claimed) return std::nullopt;
  if (!takes_for_same(found->fingerprint, asked)) return std::nullopt;
  return replayed{found->response, found->state == record_state::refused};
}

result<outcome> spoiled_contract::run(session_source& source, request const& r,
                                      effect_function const& f, run_options const& options) {
  auto answered = contract_decorator::run(source, r, f, options);
  if (content_differs(answered)) {
    auto lease = session_lease::acquire(source, {});
    if (!lease) return std::unexpected(std::move(lease).error());
    if (auto same = second_look(**lease, r)) answered = outcome(std::move(*same));
  }
  if (!answered) return answered;
  if (auto* old = std::get_if<replayed>(&*answered)) spoil(old->response);
  return answered;
}

result<claim_result> spoiled_contract::claim(transaction& tx, request const& r,
                                             claim_options const& options) {
  auto answered = contract_decorator::claim(tx, r, options);
  if (content_differs(answered))
    if (auto same = second_look(tx.session(), r)) answered = claim_result(std::move(*same));
  if (!answered) return answered;
  if (auto* old = std::get_if<replayed>(&*answered)) spoil(old->response);
  return answered;
}

result<std::optional<record>> spoiled_contract::find(session& s, identity const& id) {
  auto read = contract_decorator::find(s, id);
  if (!read) return read;
  std::optional<record>& found = *read;
  if (found) spoil(found->response);
  return read;
}

result<resolution> spoiled_contract::resolve(session& s, request const& r,
                                             std::span<attempt_id const> attempts) {
  auto answered = contract_decorator::resolve(s, r, attempts);
  bool const differs = answered ? std::holds_alternative<resolved::mismatched>(*answered)
                                : answered.error().what == errc::fingerprint_unknown;
  if (differs)
    if (auto same = second_look(s, r))
      answered = resolution(resolved::replayed{std::move(same->response), same->was_refusal});
  if (!answered) return answered;
  if (auto* old = std::get_if<resolved::replayed>(&*answered)) spoil(old->response);
  if (auto* ours = std::get_if<resolved::executed>(&*answered)) spoil(ours->response);
  return answered;
}

}  // namespace idem::inline v1::conformance
