// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/conformance/context.h>

// The scenarios of POL in files of their own.
namespace idem::inline v1::conformance {

void returned_clean(context&);          // POL-01
void dirty_sessions(context&);          // POL-02
void statement_outlives_ddl(context&);  // POL-04
void nothing_to_alter(context&);        // its probe
void idle_session_died(context&);       // POL-05
void unread_results(context&);          // POL-06
void nothing_unread(context&);          // its probe
void pool_exhausted(context&);          // POL-09

}  // namespace idem::inline v1::conformance
