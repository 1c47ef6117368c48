// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/commit_text.h"

#include <algorithm>

namespace idem::inline v1::conformance {

namespace {

constexpr std::string_view between = " \t\r\n;";

std::string_view trimmed(std::string_view text) {
  auto const begin = text.find_first_not_of(between);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(between) + 1 - begin);
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

bool first_commits(std::string_view statements) noexcept {
  auto const text = trimmed(statements);
  auto const word = text.substr(0, text.find_first_of(between));
  auto const is = [word](std::string_view other) {
    return std::ranges::equal(word, other, {}, upper);
  };
  return is("COMMIT") || is("END");
}

bool last_commits(std::string_view statements) noexcept {
  auto const text = trimmed(statements);
  auto const semicolon = text.rfind(';');
  return first_commits(semicolon == text.npos ? text : text.substr(semicolon));
}

}  // namespace idem::inline v1::conformance
