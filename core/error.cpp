// SPDX-License-Identifier: BSL-1.0
#include <idem/error.h>

#include <array>
#include <utility>

namespace idem::inline v1 {

namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 33> errc_names{
    "invalid_argument",
    "configuration",
    "unsupported",
    "connection_failed",
    "connection_lost",
    "permission_denied",
    "read_only",
    "resource_exhausted",
    "schema_missing",
    "schema_invalid",
    "schema_newer",
    "corrupt",
    "session_not_idle",
    "transaction_not_open",
    "transaction_aborted",
    "transaction_replaced",
    "isolation_mismatch",
    "claim_open",
    "serialization_failure",
    "deadlock",
    "lock_timeout",
    "cancelled",
    "deadline_exceeded",
    "unique_violation",
    "constraint_violation",
    "statement_failed",
    "fingerprint_unknown",
    "incomplete",
    "record_invisible",
    "window_passed",
    "response_too_large",
    "save_unmatched",
    "commit_in_doubt",
};
static_assert(errc_names.size() == static_cast<std::size_t>(errc::commit_in_doubt) + 1);

}  // namespace

std::string_view to_string(errc what) noexcept {
  auto const place = static_cast<std::size_t>(what);
  return place < errc_names.size() ? errc_names[place] : "unknown";
}

std::string_view to_string(phase p) noexcept {
  switch (p) {
    case phase::validate:
      return "validate";
    case phase::connect:
      return "connect";
    case phase::preflight:
      return "preflight";
    case phase::begin:
      return "begin";
    case phase::claim:
      return "claim";
    case phase::effect:
      return "effect";
    case phase::save:
      return "save";
    case phase::commit:
      return "commit";
    case phase::rollback:
      return "rollback";
    case phase::resolve:
      return "resolve";
    case phase::schema:
      return "schema";
  }
  return "unknown";
}

std::string_view to_string(certainty c) noexcept {
  switch (c) {
    case certainty::not_executed:
      return "not_executed";
    case certainty::rolled_back:
      return "rolled_back";
    case certainty::in_doubt:
      return "in_doubt";
  }
  return "unknown";
}

std::string_view to_string(advice a) noexcept {
  switch (a) {
    case advice::never:
      return "never";
    case advice::new_transaction:
      return "new_transaction";
    case advice::new_connection:
      return "new_connection";
    case advice::resolve_first:
      return "resolve_first";
  }
  return "unknown";
}

std::string describe(error const& e) {
  std::string line(to_string(e.what));
  if (!e.message.empty()) line.append(": ").append(e.message);
  line.append(" (phase ").append(to_string(e.phase));
  line.append(", ").append(to_string(e.certainty));
  line.append(", advice ").append(to_string(e.advice));
  if (!e.native.sqlstate.empty()) line.append(", SQLSTATE ").append(e.native.sqlstate);
  if (e.native.code != 0) line.append(", native code ").append(std::to_string(e.native.code));
  for (auto const& attempt : e.attempts) line.append(", attempt ").append(attempt.to_string());
  line.append(")");
  return line;
}

std::unexpected<error> invalid_argument(std::string message) {
  error e;
  e.what = errc::invalid_argument;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

}  // namespace idem::inline v1
