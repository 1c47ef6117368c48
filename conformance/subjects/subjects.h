// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

/// The subject for a target URL: every engine and driver that this build has. Errors:
/// `configuration`, naming the schemes there are; for a known one, what reading the URL gives.
result<std::unique_ptr<subject>> make_subject(std::string_view url);

/// How the subject's sessions are opened and its effects written.
enum class front_door : std::uint8_t { native, soci };

/// As the target's scheme says it: "sqlite+soci".
front_door front_door_of(std::string_view url) noexcept;
/// The URL without the front door, for the engine's own `parse_url`.
std::string without_front_door(std::string_view url);

#if IDEM_HAS_SOCI
/// Runs the statement in plain SOCI, on the transaction's soci::session.
result<> write_in_soci(transaction&, std::string const& sql, std::span<parameter const>);
#endif

#if IDEM_HAS_SQLITE
result<std::unique_ptr<subject>> make_sqlite_subject(std::string_view url);
#endif

#if IDEM_HAS_POSTGRESQL
result<std::unique_ptr<subject>> make_postgresql_subject(std::string_view url);
#endif

}  // namespace idem::inline v1::conformance
