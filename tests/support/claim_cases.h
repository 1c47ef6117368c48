// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

#include "tests/support/claim_unit.h"

namespace idem_test {

/// How a unit of work ends without a fault.
using unit_expectation = bool (*)(unit_end const&, unit_owner, flavour const&);

/// One way to use `claim` and `complete`.
struct unit_case {
  char const* name;
  void (*prepare)(scripted_world&);
  void (*script)(claim_unit&);
  unit_expectation expected;
  bool in_pairs = false;
  bool other_holds = false;
  bool idem_only = false;  ///< what a caller with its own COMMIT may do
};

/// Every use of `claim` and `complete`, the wrong ones too.
std::span<unit_case const> claim_cases();

}  // namespace idem_test
