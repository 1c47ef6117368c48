// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/conformance/context.h>

// The longer scenarios of IDC, in files of their own.
namespace idem::inline v1::conformance {

void stored_bytes_end_as_they_are(context&);  // IDC-09
void every_character(context&);               // IDC-10
void golden_vectors(context&);                // IDC-15

}  // namespace idem::inline v1::conformance
