// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

/// What a client may read, before its connection ends, from somebody who does not know what became
/// of its COMMIT.
struct last_words {
  std::string whose;
  std::string sqlstate;
  std::string bytes;  ///< one message, as it is on the wire after a COMMIT was sent
};

/// Those known of the protocol's poolers and servers; none of `segments`.
std::vector<last_words> last_words_in(wire_protocol);

}  // namespace idem::inline v1::conformance
