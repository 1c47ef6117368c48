// SPDX-License-Identifier: BSL-1.0
// The broken stores that show that the suite can see. The numbers are the catalogue's; those
// that need a wire, a clock or a queue come with the scenarios that kill them.
#include <algorithm>

#include <idem/conformance/suite.h>

#include "conformance/saboteurs/makers.h"

namespace idem::inline v1::conformance {

std::vector<saboteur> const& saboteurs() {
  static std::vector<saboteur> const all{
      {"S0", "does nothing, says that all went well", null_store},
      {"S1", "looks the key up, then inserts, without a unique key", unkeyed},
      {"S2", "commits the record before the effect", record_first},
      {"S3", "commits the record after the effect, in another transaction", record_later},
      {"S4", "replays an empty result, of an incomplete record too", empty_replay},
      {"S5", "ignores the fingerprint and its version", blind_to_content},
      {"S6", "compares the first two bytes of the fingerprint", short_fingerprint},
      {"S7", "goes on after an aborted transaction and trusts its COMMIT", deaf_to_abort},
      {"S8", "after a transient error tries only the statement again", statement_retrier},
      {"S9", "takes a lost attempt for failed and calls again under a new key", new_key_for_lost},
      {"S10", "takes a lost attempt for done without looking", lost_is_done},
      {"S11", "folds case, accents, width, composition and what has no weight", folded_text},
      {"S12", "trims trailing space, and trailing zero bytes of binary values", trimmed_text},
      {"S13", "cuts keys and results: at a NUL, at 254 and 4000 bytes; keeps no headers",
       cut_values},
      {"S14", "takes an empty string for NULL and NULL for a value", empty_is_null},
      {"S16", "its cleaner deletes records that are not expired or in progress", eager_cleaner},
      {"S17", "leaves autocommit on", autocommitting},
      {"S18", "leaves transactions open on its session, and ends its caller's", careless_session},
      {"S19", "looks keys up on a replica that is behind", lagging_lookup},
      {"S24", "takes every error for a duplicate", every_error_a_duplicate},
      {"S25", "saves without matching a row, in whatever transaction there is", unproven_save},
      {"S26", "goes on in autocommit after the server rolled back", on_in_autocommit},
      {"S27", "runs a fixed effect although its key is taken", unstopped_by_conflict},
  };
  return all;
}

saboteur const* find_saboteur(std::string_view id) {
  auto const place = std::ranges::find(saboteurs(), id, &saboteur::id);
  return place == saboteurs().end() ? nullptr : &*place;
}

}  // namespace idem::inline v1::conformance
