// SPDX-License-Identifier: BSL-1.0
#include <idem/identity.h>

#include <optional>

#include "core/utf8.h"

namespace idem::inline v1 {

namespace {

std::optional<std::string> breach(char const* name, std::string_view text, std::size_t max_bytes) {
  std::string rule;
  if (text.empty())
    rule = " is empty: give it 1 to " + std::to_string(max_bytes) + " bytes";
  else if (text.size() > max_bytes)
    rule = " has " + std::to_string(text.size()) + " bytes: at most " + std::to_string(max_bytes) +
           " are allowed";
  else if (text.find('\0') != std::string_view::npos)
    rule = " holds a NUL byte: remove it";
  else if (!detail::is_utf8(text))
    rule = " is not valid UTF-8: encode it";
  else
    return std::nullopt;
  return std::string("the identity's ") + name + rule;
}

}  // namespace

identity::identity(identity_parts parts)
    : scope_(parts.scope), operation_(parts.operation), key_(parts.key) {}

result<identity> identity::make(identity_parts parts) {
  if (auto b = breach("scope", parts.scope, max_scope_bytes)) return invalid_argument(*b);
  if (auto b = breach("operation", parts.operation, max_operation_bytes))
    return invalid_argument(*b);
  if (auto b = breach("key", parts.key, max_key_bytes)) return invalid_argument(*b);
  return identity(parts);
}

}  // namespace idem::inline v1
