// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/fault_plan.h"

#include "conformance/proxy/commit_text.h"

namespace idem::inline v1::conformance {

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
  return (m.type == 'Q' || m.type == 'E') && (first_commits(m.text) || last_commits(m.text));
}

}  // namespace idem::inline v1::conformance
