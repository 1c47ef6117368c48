// SPDX-License-Identifier: BSL-1.0
#include <idem/error.h>

#include <utility>

namespace idem::inline v1 {

std::string_view to_string(errc what) noexcept {
  switch (what) {
    case errc::invalid_argument:
      return "invalid_argument";
    case errc::configuration:
      return "configuration";
    case errc::unsupported:
      return "unsupported";
    case errc::connection_failed:
      return "connection_failed";
    case errc::connection_lost:
      return "connection_lost";
    case errc::permission_denied:
      return "permission_denied";
    case errc::read_only:
      return "read_only";
    case errc::resource_exhausted:
      return "resource_exhausted";
    case errc::schema_missing:
      return "schema_missing";
    case errc::schema_invalid:
      return "schema_invalid";
    case errc::schema_newer:
      return "schema_newer";
    case errc::corrupt:
      return "corrupt";
    case errc::session_not_idle:
      return "session_not_idle";
    case errc::transaction_not_open:
      return "transaction_not_open";
    case errc::transaction_aborted:
      return "transaction_aborted";
    case errc::transaction_replaced:
      return "transaction_replaced";
    case errc::isolation_mismatch:
      return "isolation_mismatch";
    case errc::claim_open:
      return "claim_open";
    case errc::serialization_failure:
      return "serialization_failure";
    case errc::deadlock:
      return "deadlock";
    case errc::lock_timeout:
      return "lock_timeout";
    case errc::cancelled:
      return "cancelled";
    case errc::deadline_exceeded:
      return "deadline_exceeded";
    case errc::unique_violation:
      return "unique_violation";
    case errc::constraint_violation:
      return "constraint_violation";
    case errc::statement_failed:
      return "statement_failed";
    case errc::fingerprint_unknown:
      return "fingerprint_unknown";
    case errc::incomplete:
      return "incomplete";
    case errc::record_invisible:
      return "record_invisible";
    case errc::window_passed:
      return "window_passed";
    case errc::response_too_large:
      return "response_too_large";
    case errc::save_unmatched:
      return "save_unmatched";
    case errc::commit_in_doubt:
      return "commit_in_doubt";
  }
  return "unknown";
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
