// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/conformance/context.h>

// The longer scenarios of MIS, in files of their own.
namespace idem::inline v1::conformance {

void first_calls_race(context&);      // MIS-04
void content_in_flight(context&);     // MIS-05
void versions_of_the_rule(context&);  // MIS-06
void nothing_is_told(context&);       // MIS-08

}  // namespace idem::inline v1::conformance
