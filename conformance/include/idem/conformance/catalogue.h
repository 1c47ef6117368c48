// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <idem/error.h>

namespace idem::inline v1::conformance {

enum class level : std::uint8_t { required, extended };

/// One row of the normative catalogue: data, not code. An id is never reused or renamed.
struct catalogue_entry {
  std::string id;
  std::string must;  ///< the sentence that an engine must make true
  conformance::level level = level::required;
  std::string profile;
  std::string since;  ///< idem's version that brought it
  /// What must have been seen, else the verdict is vacuous. "name@engine": on that engine only.
  std::vector<std::string> marks;
  /// The saboteurs it must kill.
  std::vector<std::string> kills;
  int min_checks = 1;
  /// False for a scenario whose point is that the effect is never reached.
  bool runs_effect = true;
};

/// The embedded catalogue. Throws std::runtime_error if the embedded text is not well-formed,
/// which a unit test rules out.
std::vector<catalogue_entry> const& catalogue();

catalogue_entry const* find_entry(std::string_view id);

/// SHA-256 of the embedded text, hexadecimal: says which contract was tested.
std::string const& catalogue_digest();

}  // namespace idem::inline v1::conformance
