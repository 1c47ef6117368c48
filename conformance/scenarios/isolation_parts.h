// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include <idem/conformance/context.h>

// The scenarios of ISO in files of their own.
namespace idem::inline v1::conformance {

void every_level(context&);               // ISO-01
void absent_in_snapshot(context&);        // ISO-02
void late_to_the_snapshot(context&);      // ISO-03
void no_old_snapshot(context&);           // the probe of both
void commit_conflicts(context&);          // ISO-04
void nothing_to_conflict_with(context&);  // its probe
void nothing_uncommitted(context&);       // ISO-05
void level_as_found(context&);            // ISO-06

std::string name_of(isolation);

}  // namespace idem::inline v1::conformance
