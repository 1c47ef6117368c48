// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>

#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

/// The subject for a target URL: every engine and driver that this build has. Errors:
/// `configuration`, naming the schemes there are; for a known one, what reading the URL gives.
result<std::unique_ptr<subject>> make_subject(std::string_view url);

#if IDEM_HAS_SQLITE
result<std::unique_ptr<subject>> make_sqlite_subject(std::string_view url);
#endif

#if IDEM_HAS_POSTGRESQL
result<std::unique_ptr<subject>> make_postgresql_subject(std::string_view url);
#endif

}  // namespace idem::inline v1::conformance
