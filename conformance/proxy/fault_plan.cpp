// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/fault_plan.h"

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

bool commits(std::string_view statement) {
  auto const text = trimmed(statement);
  auto const word = text.substr(0, text.find_first_of(between));
  auto const is = [word](std::string_view other) {
    return std::ranges::equal(word, other, {}, upper);
  };
  return is("COMMIT") || is("END");
}

bool first_or_last_commits(std::string_view statements) {
  auto const text = trimmed(statements);
  auto const semicolon = text.rfind(';');
  return commits(text) || (semicolon != text.npos && commits(text.substr(semicolon)));
}

}  // namespace

std::string_view to_string(fault_action action) noexcept {
  switch (action) {
    case fault_action::cut_rst:
      return "cut by a reset";
    case fault_action::cut_fin:
      return "cut by an end";
    case fault_action::replace:
      return "replace";
    case fault_action::swallow:
      return "swallow";
    case fault_action::hold:
      return "hold";
    case fault_action::delay:
      return "delay";
  }
  return "unknown";
}

std::function<bool(message const&)> of_type(char type) {
  return [type](message const& m) { return m.type == type; };
}

bool is_commit(message const& m) {
  if (m.way == direction::to_client) return m.type == 'C' && m.text == "COMMIT";
  return (m.type == 'Q' || m.type == 'E') && first_or_last_commits(m.text);
}

}  // namespace idem::inline v1::conformance
