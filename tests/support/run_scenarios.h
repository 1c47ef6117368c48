// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include <idem/store.h>

#include "tests/support/scripted_session.h"

namespace idem_test {

/// The one request of these tests, and the same key with other content.
idem::request const& the_request();
idem::request const& other_request();
key the_key();
/// Another identity, for a transaction that claims two.
idem::request const& second_request();
key second_key();

idem::response the_response();
idem::response the_refusal();
inline constexpr std::size_t most_response_bytes = 64;

/// The rows that tell whose effect took place.
inline constexpr char mine[] = "mine";
inline constexpr char earlier[] = "earlier";
inline constexpr char later[] = "later";

/// What a test's effect throws; passes through unchanged.
struct thrown_by_effect {
  int value;
};

/// One call of an effect.
struct play {
  scripted_world& world;
  idem::store const& store;
  idem::transaction& tx;
  int call;  ///< from 1

  scripted_session& handle() const {
    return *static_cast<scripted_session*>(tx.session().native_handle());
  }
  /// The effect's write.
  idem::result<> write() const;
};
using effect_script = idem::result<idem::answer> (*)(play const&);

/// How a run without a fault ends.
enum class ending : std::uint8_t {
  executed,
  replayed,
  refused,
  refused_stored,
  mismatched,
  in_progress,
  thrown,
  failed,
};
struct expected_ending {
  ending how = ending::executed;
  idem::errc what = idem::errc::statement_failed;  ///< of `failed`
};

struct scenario {
  char const* name;
  void (*prepare)(scripted_world&);
  effect_script effect;
  expected_ending (*expected)(flavour const&);
  idem::refusal_policy refusals = idem::refusal_policy::roll_back;
  bool lone = false;           ///< one session and no second connection
  bool in_pairs = false;       ///< also with two faults at once
  bool other_holds = false;    ///< a session that does not end holds the key
  bool claims_second = false;  ///< the effect completes a claim of another identity
};

/// Every path through `run`.
std::span<scenario const> run_scenarios();

/// A record as an earlier call left it.
stored earlier_record(idem::request const&, idem::fingerprint_version, idem::record_state);

}  // namespace idem_test
