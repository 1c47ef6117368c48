// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/conformance/context.h>

// The scenarios of CON with many callers, and those in files of their own.
namespace idem::inline v1::conformance {

void many_workers(context&);        // CON-02
void four_processes(context&);      // CON-10
void no_other_process(context&);    // its probe
void every_interleaving(context&);  // CON-13
void named_locks_end(context&);     // CON-14
void no_named_locks(context&);      // its probe

}  // namespace idem::inline v1::conformance
