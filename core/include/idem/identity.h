// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <idem/error.h>

namespace idem::inline v1 {

inline constexpr std::size_t max_scope_bytes = 128;
inline constexpr std::size_t max_operation_bytes = 128;
inline constexpr std::size_t max_key_bytes = 255;

/// The three parts of an identity as the caller has them, not yet checked. A view: the
/// texts must outlive the call it is passed to.
struct identity_parts {
  std::string_view scope;      ///< who: tenant or account, from authentication, never from the body
  std::string_view operation;  ///< which contract, with its version: "debit:v1"
  std::string_view key;        ///< which intent: the client's idempotency key
};

/// A checked identity. Two are the same if and only if their bytes are: no folding of case,
/// accent, width, normalisation or trailing space.
///
/// Immutable after construction; safe to share between threads.
class identity {
 public:
  /// Checks the bounds (1..128, 1..128, 1..255 bytes), valid UTF-8, no NUL.
  /// Errors: `invalid_argument`, naming the part, the rule and the length seen.
  [[nodiscard]] static result<identity> make(identity_parts);

  std::string const& scope() const noexcept { return scope_; }
  std::string const& operation() const noexcept { return operation_; }
  std::string const& key() const noexcept { return key_; }

  friend bool operator==(identity const&, identity const&) = default;

 private:
  explicit identity(identity_parts);
  std::string scope_;
  std::string operation_;
  std::string key_;
};

}  // namespace idem::inline v1
