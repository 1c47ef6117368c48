// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

/// The in-memory engine as a subject: passes everything that can be shown without a server,
/// and so shows that the scenarios ask for nothing impossible. Named for what it is.
std::unique_ptr<subject> make_reference_subject();

}  // namespace idem::inline v1::conformance
