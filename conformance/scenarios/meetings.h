// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string>

#include <idem/conformance/context.h>

// Calls with one key that meet: what CON shows once and ISO shows at every level.
namespace idem::inline v1::conformance {

/// Options with which a call waits for another as long as a scenario's machine may need.
run_options patient();

/// A second call while the first is in its effect. True if it waited or was told so.
bool meet_two(context&, session& first, session& second, std::string const& key,
              run_options const&);

/// The first call rolls back while a second waits for it. True if that one was seen waiting.
bool roll_back_before_waiter(context&, std::string const& key, run_options const&);

/// The first call rolls back while two wait for it. True if both were seen waiting.
bool meet_three(context&, contract& watched, std::array<session*, 3> const&, std::string const& key,
                run_options const&);

/// Several workers, each with all of the keys in an order of its own. The calls may have to
/// start over often: all of them write one balance.
void meet_many(context&, std::string const& prefix, run_options);

}  // namespace idem::inline v1::conformance
