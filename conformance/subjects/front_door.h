// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/conformance/subject.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace idem::inline v1::sqlite {
struct options;
}
namespace idem::inline v1::postgresql {
struct options;
}

namespace idem::inline v1::conformance {

/// How a subject's sessions are opened and its effects written.
enum class front_door : std::uint8_t { native, soci };

/// As the target's scheme says it: "sqlite+soci".
front_door front_door_of(std::string_view url) noexcept;
/// The URL without the front door, for the engine's own `parse_url`.
std::string without_front_door(std::string_view url);

/// "sqlite" becomes "sqlite+soci".
std::string name_by(front_door, std::string_view engine);
/// The driver, with what stands before it.
std::string driver_by(front_door, std::string_view native);

/// Opens a session by that door. Only for engines of this build.
result<std::unique_ptr<session>> open_by(front_door, sqlite::options const&,
                                         call_limits const& = {});
result<std::unique_ptr<session>> open_by(front_door, postgresql::options const&,
                                         call_limits const& = {});

#if IDEM_HAS_SOCI
/// Runs the statement in plain SOCI, on the transaction's soci::session.
result<> write_in_soci(transaction&, std::string const& sql, std::span<parameter const>);
#endif

/// A statement of the effect as a user of that door writes it.
result<> write_by(front_door, transaction&, std::string const& sql, std::span<parameter const>);

}  // namespace idem::inline v1::conformance
