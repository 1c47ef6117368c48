// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <variant>

#include <idem/attempt.h>
#include <idem/record.h>
#include <idem/response.h>

namespace idem::inline v1 {

/// This call's effect is committed, with this response.
struct executed {
  idem::response response;
  attempt_id attempt;
  friend bool operator==(executed const&, executed const&) = default;
};

/// An earlier call was answered with this response; this call had no effect.
struct replayed {
  idem::response response;
  bool was_refusal = false;  ///< the stored answer is a refusal
  friend bool operator==(replayed const&, replayed const&) = default;
};

/// The effect said no and nothing of it stays. If stored, later calls replay it.
struct refused {
  idem::response response;
  bool stored = false;
  friend bool operator==(refused const&, refused const&) = default;
};

/// The key was used with other content. Says nothing of the stored request or response.
struct mismatched {
  friend bool operator==(mismatched const&, mismatched const&) = default;
};

/// Another call with this identity is still running after the wait limit.
struct in_progress {
  friend bool operator==(in_progress const&, in_progress const&) = default;
};

/// What became of one `run`: answers, not errors.
using outcome = std::variant<executed, replayed, refused, mismatched, in_progress>;

/// Found committed without one of the attempts asked about, or proven absent, and so on:
/// what the record says of an attempt whose COMMIT was in doubt.
namespace resolved {
/// One of the attempts asked about committed, with this response.
struct executed {
  idem::response response;
  attempt_id attempt;
  record_state state = record_state::completed;
};
/// Another attempt of the same request committed.
struct replayed {
  idem::response response;
  bool was_refusal = false;
};
/// The key was used with other content.
struct mismatched {};
/// A transaction that is still open holds the identity.
struct open {};
/// No record, and the engine proves that no open transaction can still write one of the
/// attempts: the request was not executed and may be run again.
struct absent {};
/// No record, and no proof: the old COMMIT may still arrive. Run the request again: whichever of
/// the two commits first, the other cannot.
struct unproven {};
}  // namespace resolved

using resolution = std::variant<resolved::executed, resolved::replayed, resolved::mismatched,
                                resolved::open, resolved::absent, resolved::unproven>;

}  // namespace idem::inline v1
