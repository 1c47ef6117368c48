// SPDX-License-Identifier: BSL-1.0
#include "tests/support/scripted_engine.h"

namespace idem_test {

namespace {

using idem::advice;
using idem::errc;
using idem::meaning;

meaning classify(idem::native_error const& e) noexcept {
  switch (static_cast<native>(e.code)) {
    case native::unique:
      return {errc::unique_violation, advice::never};
    case native::serialization:
      return {errc::serialization_failure, advice::new_transaction};
    case native::deadlock:
      return {errc::deadlock, advice::new_transaction};
    case native::lock_timeout:
      return {errc::lock_timeout, advice::new_transaction};
    case native::failed:
      return {errc::statement_failed, advice::never};
    case native::lost:
      return {errc::connection_lost, advice::new_connection};
    case native::no_savepoint:
      return {errc::statement_failed, advice::never};
    case native::unmatched:
      return {errc::save_unmatched, advice::never};
    case native::aborted:
      return {errc::transaction_aborted, advice::never};
    case native::replaced:
      return {errc::transaction_replaced, advice::never};
    case native::constraint:
      return {errc::constraint_violation, advice::never};
    case native::out_of_time:
      return {errc::deadline_exceeded, advice::never};
    case native::cannot_connect:
      return {errc::connection_failed, advice::new_connection};
  }
  return {};
}

constexpr idem::migration migrations[] = {{1, "0001_tables.sql", "CREATE {prefix}records\n"}};

}  // namespace

idem::error engine_error(native code) {
  idem::error e;
  e.native = {"", static_cast<std::int64_t>(code), server_text};
  auto const means = classify(e.native);
  e.what = means.what;
  e.advice = means.advice;
  e.message = "the scripted engine failed";
  return e;
}

idem::dialect make_dialect(flavour const& f) {
  idem::dialect d;
  d.name = "scripted";
  d.facts = f.facts;
  d.classify = &classify;
  d.sql.claim = "CLAIM {schema}.{prefix}records";
  d.sql.find = "FIND {schema}.{prefix}records";
  d.sql.read_winner = "READ_WINNER {schema}.{prefix}records";
  d.sql.save = "SAVE {schema}.{prefix}records";
  d.sql.discard = "DISCARD {schema}.{prefix}records";
  d.sql.savepoint = "SAVEPOINT idem";
  d.sql.rollback_to_savepoint = "ROLLBACK TO idem";
  d.sql.release_savepoint = "RELEASE idem";
  d.sql.guard = "SAVEPOINT guard";
  d.sql.rollback_to_guard = "ROLLBACK TO guard";
  d.sql.release_guard = "RELEASE guard";
  d.schema.migrations = migrations;
  d.schema.default_schema = "main";
  d.schema.max_identifier_bytes = 63;
  d.schema.version_table_exists = "VERSION_TABLE";
  d.schema.version = "VERSION";
  return d;
}

bool applies(fault const& f, port_call call) noexcept {
  switch (f.kind) {
    case fault_kind::lost_before:
      return call != port_call::commit && call != port_call::save_commit &&
             call != port_call::reset;
    case fault_kind::lost_after:
    case fault_kind::lost_lingering:
    case fault_kind::lost_stuck:
      return call == port_call::begin || call == port_call::execute;
    case fault_kind::serialization:
    case fault_kind::deadlock:
      return call == port_call::execute || call == port_call::save_commit;
    case fault_kind::lock_timeout:
    case fault_kind::statement_error:
    case fault_kind::out_of_time:
      return call == port_call::begin || call == port_call::execute ||
             call == port_call::save_commit;
    case fault_kind::rollback_fails:
      return call == port_call::rollback;
    case fault_kind::status_unknown:
      return call == port_call::status;
    case fault_kind::reset_fails:
      return call == port_call::reset;
    default:
      return call == port_call::commit || call == port_call::save_commit;
  }
}

char const* name_of(fault_kind k) noexcept {
  static constexpr char const* names[fault_kinds] = {
      "lost_before",          "lost_after",         "lost_lingering",    "lost_stuck",
      "serialization",        "deadlock",           "lock_timeout",      "statement_error",
      "out_of_time",          "rollback_fails",     "status_unknown",    "reset_fails",
      "commit_unsent",        "commit_not_reached", "commit_unanswered", "commit_refused",
      "commit_serialization", "commit_busy",        "commit_late"};
  return names[static_cast<std::size_t>(k)];
}

scripted_world::scripted_world(flavour f)
    : server(std::move(f)), dialect(make_dialect(server.kind())) {}

std::optional<fault> scripted_world::step(port_call call) {
  trace.push_back(call);
  int const now = static_cast<int>(trace.size());
  server.arrive(now);
  if (on_step) on_step(call);
  for (auto const& planned : plan) {
    if (planned.step != now || !applies(planned.what, call)) continue;
    blinded = blinded || replaced;
    ++fired[static_cast<std::size_t>(planned.what.kind)];
    return planned.what;
  }
  return std::nullopt;
}

}  // namespace idem_test
