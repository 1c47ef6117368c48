// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include <idem/conformance/contract.h>
#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

// One function a saboteur: breaks one thing of the contract it is given. saboteurs.cpp says
// which id each has.
using maker = std::unique_ptr<contract>(std::unique_ptr<contract>, subject&);

maker null_store;
maker unkeyed;
maker record_first;
maker record_later;
maker empty_replay;
maker blind_to_content;
maker short_fingerprint;
maker deaf_to_abort;
maker statement_retrier;
maker new_key_for_lost;
maker lost_is_done;
maker folded_text;
maker trimmed_text;
maker cut_values;
maker empty_is_null;
maker eager_cleaner;
maker autocommitting;
maker careless_session;
maker lagging_lookup;
maker every_error_a_duplicate;
maker unproven_save;
maker on_in_autocommit;
maker unstopped_by_conflict;

}  // namespace idem::inline v1::conformance
