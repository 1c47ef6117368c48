// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <idem/schema.h>
#include <idem/store.h>

#include "core/transaction_state.h"

namespace idem::inline v1::detail {

/// The dialect's statements with the tables' names filled in.
struct rendered_statements {
  std::string claim, find, read_winner, save, discard;
  std::string savepoint, rollback_to_savepoint, release_savepoint;
  std::string guard, rollback_to_guard, release_guard;
  std::string claim_or_fail, find_of_another;
};

rendered_statements render_statements(dialect const&, table_names const&);

/// Everything a store knows. Immutable after `store::open`.
struct store_core {
  std::string dialect_name;
  traits facts;
  table_names names;
  rendered_statements sql;
  store_options options;
};

/// Which savepoints travel with a claim.
enum class claim_savepoint : std::uint8_t {
  none,
  after,   ///< where the driver pipelines: the effect can be undone alone
  around,  ///< the guard: a claim that fails can be undone alone
};

/// What is written with a claim.
struct claim_input {
  idem::request const* request;
  attempt_id attempt;
  fingerprint_version write_version;
  bool store_canonical_request;
  claim_savepoint savepoint = claim_savepoint::none;
};

struct claim_inserted {};
struct claim_invisible {};
/// The claim's statement: inserted, or the winner's row, or a conflict without a row.
using claim_step = std::variant<claim_inserted, record, claim_invisible>;

/// Sends the claim and, on a conflict, reads the winner. The first write of its transaction.
result<claim_step> send_claim(store_core const&, session&, claim_input const&, call_limits const&);

/// What a whole operation came to that was sent in one round trip.
struct whole_step {
  std::optional<error> failure;  ///< nothing: committed
  std::optional<record> other;   ///< a committed record of another attempt
};

/// Sends claim, fixed effect, save and COMMIT in one round trip. Errors, nothing sent:
/// `unsupported` if the session cannot; as `session::run_whole`.
result<whole_step> send_whole(store_core const&, session&, claim_input const&, isolation,
                              fixed_effect const&, call_limits const&);

/// Puts a half record back with its own attempt and fingerprint, in a transaction that has
/// discarded it.
result<> send_claim_again(store_core const&, session&, identity const&, record const& half,
                          call_limits const&);

/// What the record says of this request: its response, or that the content differs.
/// Errors: `fingerprint_unknown`, `incomplete`.
result<std::variant<replayed, mismatched>> judge(record const&, request const&);

/// One record by identity: a plain read.
result<std::optional<record>> read_record(store_core const&, session&, identity const&,
                                          call_limits const&);

/// Does a statement about the claim's savepoint, failing so, say that it is not there any more?
bool means_replaced(error const&) noexcept;

/// Is the failure of a claim a wait for this identity, and for nothing else?
bool waited_for_identity(store_core const&, error const&) noexcept;

/// `store::resolve`.
result<resolution> resolve_attempts(store_core const&, session&, request const&,
                                    std::span<attempt_id const>, call_limits const&);

/// Proves that the claim's transaction is the one still open, then saves the response. Errors:
/// `transaction_replaced`, `save_unmatched`; others as the session gives them. One with `attempts`
/// could not find out whether the effect has committed.
result<> send_save(store_core const&, session&, identity const&, attempt_id const&, record_state,
                   response const&, call_limits const&);

/// As `send_save` and the session's commit; the save travels with COMMIT where the engine
/// refuses a save that matches no row by itself.
result<> save_and_commit(store_core const&, session&, identity const&, attempt_id const&,
                         record_state, response const&, call_limits const&);

result<> run_one(session&, std::string_view sql, call_limits const&);

/// `e` with phase and certainty set, as the session leaves them to us.
std::unexpected<error> at(error e, phase, certainty);

/// `e` with the advice to verify the schema where the server refused a statement of idem's own.
error with_schema_hint(error e);

/// The host's clock, for engines that have none.
std::int64_t host_now_us();

result<> check_response(store_core const&, response const&);

}  // namespace idem::inline v1::detail
