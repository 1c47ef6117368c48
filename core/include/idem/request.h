// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <idem/error.h>
#include <idem/fingerprint.h>
#include <idem/identity.h>

namespace idem::inline v1 {

/// An identity and the content that came with it. Keeps its material, not only a digest, so
/// that a record written under an older rule is compared by that rule.
///
/// Immutable, cheap to copy, safe to share between threads.
class request {
 public:
  /// The content is bytes, compared as they are. `std::nullopt` (no body), an empty body and
  /// "0" are three different requests.
  /// Errors: `invalid_argument` for the identity.
  [[nodiscard]] static result<request> from_bytes(identity_parts,
                                                  std::optional<std::string_view> bytes);

  /// The content is typed name/value pairs, in any order.
  /// Errors: `invalid_argument` for the identity, an empty or repeated name, a name or text
  /// that is not UTF-8.
  [[nodiscard]] static result<request> from_fields(identity_parts, std::span<field const> fields);

  /// The content is JSON, compared by meaning: member order and white space do not matter,
  /// numbers keep their exact decimal value (see docs/fingerprint.md).
  /// Errors: `invalid_argument` for the identity, text that is not JSON, a repeated member,
  /// invalid UTF-8, a bound exceeded, a bad pointer in `left_out`. No error repeats the text.
  [[nodiscard]] static result<request> from_json(identity_parts, std::string_view json,
                                                 json_options = {});

  idem::identity const& identity() const noexcept;

  /// The digest under one rule.
  /// Errors: `fingerprint_unknown`.
  [[nodiscard]] result<idem::fingerprint> fingerprint(
      fingerprint_version = current_fingerprint_version) const;

  /// The canonical request, as an operation may store it beside its fingerprint. It does not
  /// depend on the rule's version. Valid as long as this request or a copy of it lives.
  std::string_view canonical() const noexcept;

 private:
  struct content;
  explicit request(std::shared_ptr<content const>);
  std::shared_ptr<content const> content_;
};

}  // namespace idem::inline v1
