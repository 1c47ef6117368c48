// SPDX-License-Identifier: BSL-1.0
#include "core/json_left_out.h"

#include <algorithm>
#include <utility>

#include "core/canonical_json.h"
#include "core/utf8.h"

namespace idem::inline v1::detail {
namespace {

/// Every `~` is followed by 0 or 1 (RFC 6901 section 3).
bool escapes_are_complete(std::string_view pointer) noexcept {
  for (auto at = pointer.find('~'); at != pointer.npos; at = pointer.find('~', at + 1)) {
    if (at + 1 == pointer.size()) return false;
    if (pointer[at + 1] != '0' && pointer[at + 1] != '1') return false;
  }
  return true;
}

/// Of a checked token: ~1 is a slash, ~0 a tilde.
std::string unescaped(std::string_view token) {
  std::string plain;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      plain += token[i];
    } else {
      plain += token[++i] == '1' ? '/' : '~';
    }
  }
  return plain;
}

}  // namespace

result<> check_json_pointer(std::string_view pointer) {
  if (pointer.empty()) {
    return invalid_argument("a left-out JSON Pointer is empty: it would name the whole document");
  }
  if (!pointer.starts_with('/')) {
    return invalid_argument("a left-out JSON Pointer does not begin with '/'");
  }
  if (!is_utf8(pointer)) return invalid_argument("a left-out JSON Pointer is not UTF-8");
  if (!escapes_are_complete(pointer)) {
    return invalid_argument("a left-out JSON Pointer has a '~' without 0 or 1 after it");
  }
  return {};
}

result<left_out_tree> left_out_tree::make(std::span<std::string const> pointers) {
  left_out_tree tree;
  for (auto const& pointer : pointers) {
    if (auto checked = check_json_pointer(pointer); !checked) {
      return std::unexpected(std::move(checked).error());
    }
    tree.add(pointer);
  }
  return tree;
}

left_out_tree::node left_out_tree::child(node parent, std::string_view token) const {
  if (parent == nowhere) return nowhere;
  auto const& children = entries_[parent].children;
  auto const found = children.find(token);
  return found == children.end() ? nowhere : found->second;
}

void left_out_tree::add(std::string_view pointer) {
  node at = root;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);  // the slash
    auto const size = std::min(pointer.find('/'), pointer.size());
    at = add_child(at, unescaped(pointer.substr(0, size)));
    pointer.remove_prefix(size);
  }
  entries_[at].ends_pointer = true;
}

left_out_tree::node left_out_tree::add_child(node parent, std::string token) {
  node const next = entries_.size();
  auto const [found, added] = entries_[parent].children.try_emplace(std::move(token), next);
  node const child = found->second;
  if (added) entries_.emplace_back();
  return child;
}

}  // namespace idem::inline v1::detail
