// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include <idem/error.h>

struct sqlite3;

namespace idem::inline v1::sqlite::detail {

/// What the handle's last call failed with. Call it before any other call on the handle.
error last_error(sqlite3*);

/// An error of our own. Nothing was sent.
error refusal_of(errc, std::string message);

}  // namespace idem::inline v1::sqlite::detail
