// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/postgresql.h>

namespace idem::inline v1::postgresql::detail {

/// An error about a URL or an option: `configuration`, nothing sent.
std::unexpected<error> refuse_options(std::string message);

}  // namespace idem::inline v1::postgresql::detail
