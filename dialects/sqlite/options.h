// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/sqlite.h>

namespace idem::inline v1::sqlite::detail {

/// Errors: `configuration`, for options that cannot be.
result<> check(options const&);

}  // namespace idem::inline v1::sqlite::detail
