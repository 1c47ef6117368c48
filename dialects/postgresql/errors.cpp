// SPDX-License-Identifier: BSL-1.0
// What PostgreSQL's SQLSTATEs mean. https://www.postgresql.org/docs/18/errcodes-appendix.html
#include "dialects/postgresql/errors.h"

#include <algorithm>
#include <iterator>

namespace idem::inline v1::postgresql::detail {

namespace {

constexpr known_state table[] = {
    {"08", {errc::connection_lost, advice::new_connection}},
    {"08001", {errc::connection_failed, advice::new_connection}},
    {"08004", {errc::connection_failed, advice::never}},
    // A message that the server does not understand: the next connection has the same library.
    {"08P01", {errc::statement_failed, advice::never}},
    // What the save raises when it matched no row; see the dialect's statement.
    {"2201G", {errc::save_unmatched, advice::never}},
    {"23", {errc::constraint_violation, advice::never}},
    {"23505", {errc::unique_violation, advice::never}},
    {"25006", {errc::read_only, advice::never}},
    {"25P01", {errc::transaction_not_open, advice::never}},
    {"25P02", {errc::transaction_aborted, advice::never}},
    // The server ended the session: idle in a transaction, or the transaction took too long.
    {"25P03", {errc::connection_lost, advice::new_connection}},
    {"25P04", {errc::connection_lost, advice::new_connection}},
    // A prepared statement that this session does not have: DISCARD ALL, or a pooler changed the
    // server under us. The session forgets its statements and prepares them anew.
    {"26000", {errc::statement_failed, advice::new_transaction}},
    {"28", {errc::connection_failed, advice::never}},
    {"3D000", {errc::connection_failed, advice::never}},
    {"40", {errc::serialization_failure, advice::new_transaction}},
    {"40001", {errc::serialization_failure, advice::new_transaction}},
    // statement_completion_unknown: "it is unknown whether the statement succeeded"
    {"40003", {errc::commit_in_doubt, advice::resolve_first}},
    {"40P01", {errc::deadlock, advice::new_transaction}},
    {"42501", {errc::permission_denied, advice::never}},
    // The session's names for prepared statements are in use by something else.
    {"42P05", {errc::statement_failed, advice::never}},
    {"53", {errc::resource_exhausted, advice::never}},
    {"53300", {errc::resource_exhausted, advice::new_connection}},
    {"55P03", {errc::lock_timeout, advice::new_transaction}},
    // statement_timeout, or somebody cancelled it. Ours are told apart by the session.
    {"57014", {errc::cancelled, advice::never}},
    {"57P01", {errc::connection_lost, advice::new_connection}},
    {"57P02", {errc::connection_lost, advice::new_connection}},
    // Starting up, shutting down or recovering.
    {"57P03", {errc::connection_failed, advice::new_connection}},
    {"57P04", {errc::connection_failed, advice::never}},
    {"57P05", {errc::connection_lost, advice::new_connection}},
    {"58", {errc::statement_failed, advice::new_connection}},
    {"72000", {errc::serialization_failure, advice::new_transaction}},
    {"XX001", {errc::corrupt, advice::never}},
    {"XX002", {errc::corrupt, advice::never}},
};

static_assert(std::ranges::is_sorted(table, {}, &known_state::state));

known_state const* find(std::string_view state) noexcept {
  auto const* found = std::ranges::lower_bound(table, state, {}, &known_state::state);
  return found != std::end(table) && found->state == state ? found : nullptr;
}

}  // namespace

std::span<known_state const> known_states() noexcept { return table; }

meaning classify(native_error const& native) noexcept {
  std::string_view const state = native.sqlstate;
  if (auto const* exact = find(state)) return exact->means;
  auto const* whole_class = find(state.substr(0, 2));
  return whole_class != nullptr ? whole_class->means : meaning{};
}

}  // namespace idem::inline v1::postgresql::detail
