// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include <idem/conformance/context.h>

// The longer scenarios of IDC, in files of their own.
namespace idem::inline v1::conformance {

void stored_bytes_end_as_they_are(context&);  // IDC-09
void every_character(context&);               // IDC-10
void places_do_not_matter(context&);          // IDC-14
void golden_vectors(context&);                // IDC-15
void records_move(context&);                  // IDC-17
void nowhere_to_move(context&);               // its probe

/// Every published request has the published canonical bytes and digest.
void check_published_digests(context&, std::string const& key_prefix);

}  // namespace idem::inline v1::conformance
