// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/conformance/context.h>

// The longer scenarios of RPL, one file each.
namespace idem::inline v1::conformance {

void replay_elsewhere(context&);      // RPL-02
void no_second_process(context&);     // its probe
void replay_after_restart(context&);  // RPL-03
void no_restart(context&);            // its probe
void refusal_as_declared(context&);   // RPL-07
void half_record(context&);           // RPL-11

/// Leaves a record without a response: a claim whose token is dropped in a transaction that
/// its caller commits. The effect's nonce, if it was to write one.
std::optional<std::string> leave_half_record(context&, session&, operation const&,
                                             bool with_effect);

}  // namespace idem::inline v1::conformance
