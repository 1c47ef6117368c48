// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/conformance/context.h>

// The scenarios of RBK in which the transaction itself is spoilt or ended.
namespace idem::inline v1::conformance {

void aborted_commit(context&);           // RBK-04
void statement_ends_nothing(context&);   // the probe of RBK-04 and RBK-15
void deadlock_victim(context&);          // RBK-08
void cross_order_serialises(context&);   // its probe
void lock_timeout_in_effect(context&);   // RBK-09
void no_lock_to_wait_for(context&);      // its probe
void rollback_fails(context&);           // RBK-12
void swallowed_failure(context&);        // RBK-15
void effect_ends_transaction(context&);  // RBK-16
void save_matches_nothing(context&);     // RBK-17

/// The effect is in the transaction's own view of the ledger.
bool sees_effect(context&, transaction&, operation const&);

/// No transaction is open on the session, by its own word and by the server's.
void check_idle(context&, session&, std::string const& when,
                std::source_location = std::source_location::current());

}  // namespace idem::inline v1::conformance
