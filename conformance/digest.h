// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include <idem/identity.h>

namespace idem::inline v1::conformance {

/// SHA-256, 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// The ledger's name for an identity: the digest of its length-prefixed parts.
std::string tag_of(identity const&);

}  // namespace idem::inline v1::conformance
