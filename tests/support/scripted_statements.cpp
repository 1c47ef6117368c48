// SPDX-License-Identifier: BSL-1.0
// What the simulated server makes of a statement; and where sessions come from.
#include <algorithm>

#include "tests/support/scripted_engine.h"

namespace idem_test {

namespace {

using idem::error;
using idem::parameter;
using idem::rows;
using idem::statement;
using idem::value;

std::unexpected<error> fail(native code) { return std::unexpected(engine_error(code)); }

std::int64_t integer(parameter const& p) { return std::get<std::int64_t>(p.get()); }
std::string bytes(parameter const& p) {
  return std::string(std::get<idem::blob_view>(p.get()).bytes);
}
std::optional<std::string> bytes_or_null(parameter const& p) {
  if (std::holds_alternative<std::monostate>(p.get())) return std::nullopt;
  return bytes(p);
}

key key_at(std::span<parameter const> p, std::size_t first) {
  return {bytes(p[first]), bytes(p[first + 1]), bytes(p[first + 2])};
}

// A binding error shows as what it would be on a real engine: a statement that fails.
bool has_count(statement const& s, std::size_t without_clock, idem::traits const& facts) {
  return s.parameters.size() == without_clock + (facts.binds_clock ? 1 : 0);
}

}  // namespace

scripted_session::answer scripted_session::run(statement const& s) {
  if (s.sql == "CLAIM main.idem_records") return run_claim(s);
  if (s.sql == "FIND main.idem_records") return run_find(s);
  if (s.sql == "READ_WINNER main.idem_records") return run_find(s);
  if (s.sql == "SAVE main.idem_records") return run_save(s);
  if (s.sql == "DISCARD main.idem_records") return run_discard(s);
  if (s.sql.starts_with("EFFECT")) return run_effect(s);
  if (s.sql == "VERSION_TABLE" || s.sql == "VERSION") return rows{{{value(std::int64_t{1})}}, 0};
  return run_savepoint(s.sql);
}

scripted_session::answer scripted_session::run_claim(statement const& s) {
  auto const& facts = world_->dialect.facts;
  if (!transaction_ || !has_count(s, 7, facts)) return fail(native::failed);
  auto const& p = s.parameters;
  stored row;
  row.attempt = bytes(p[3]);
  row.version = integer(p[4]);
  row.fingerprint = bytes(p[5]);
  row.canonical = bytes_or_null(p[6]);
  switch (world_->server.claim(*transaction_, key_at(p, 0), std::move(row))) {
    case scripted_server::claimed::inserted:
      return rows{{}, 1};
    case scripted_server::claimed::timed_out:
      return std::unexpected(fail_as(fault_kind::lock_timeout));
    case scripted_server::claimed::killed:
      return std::unexpected(fail_as(fault_kind::deadlock));
    case scripted_server::claimed::taken:
      break;
  }
  if (facts.conflict == idem::claim_conflict::no_row) return rows{};
  return fail(native::unique);
}

scripted_session::answer scripted_session::run_find(statement const& s) {
  if (s.parameters.size() != 3) return fail(native::failed);
  auto const found = world_->server.find(transaction_, key_at(s.parameters, 0));
  if (!found) return rows{};
  bool const no_empty = world_->server.kind().empty_is_null;
  auto const as_blob = [&](std::optional<std::string> const& b) {
    return !b || (no_empty && b->empty()) ? value() : value(idem::blob{*b});
  };
  auto const as_time = [](std::optional<std::int64_t> t) { return t ? value(*t) : value(); };
  return rows{{{as_blob(found->attempt), found->version, as_blob(found->fingerprint),
                as_blob(found->canonical), found->state, found->status, as_blob(found->headers),
                as_blob(found->body), std::int64_t{found->has_body}, found->created_at,
                as_time(found->completed_at), as_time(found->expires_at)}},
              0};
}

scripted_session::answer scripted_session::run_save(statement const& s) {
  auto const& facts = world_->dialect.facts;
  if (!transaction_ || !has_count(s, 10, facts)) return fail(native::failed);
  auto const& p = s.parameters;
  stored row;
  row.state = integer(p[0]);
  row.status = integer(p[1]);
  row.headers = bytes_or_null(p[2]);
  row.body = bytes_or_null(p[3]);
  row.has_body = integer(p[4]) != 0;
  row.expires_at = integer(p[5]);
  row.attempt = bytes(p[9]);
  if (world_->server.save(*transaction_, key_at(p, 6), row)) return rows{{}, 1};
  if (!facts.save_fails_in_server) return rows{};
  fail_transaction();
  return fail(native::unmatched);
}

scripted_session::answer scripted_session::run_discard(statement const& s) {
  if (s.parameters.size() != 4) return fail(native::failed);
  bool const gone =
      world_->server.discard(transaction_, key_at(s.parameters, 0), bytes(s.parameters[3]));
  return rows{{}, gone ? 1 : 0};
}

scripted_session::answer scripted_session::run_effect(statement const& s) {
  if (!world_->effect_errors.empty()) {
    auto const kind = world_->effect_errors.front();
    world_->effect_errors.erase(world_->effect_errors.begin());
    return std::unexpected(fail_as(kind));
  }
  if (s.sql == "EFFECT_DUPLICATE") {
    fail_transaction();
    return fail(native::unique);
  }
  world_->server.write_effect(transaction_,
                              std::string(std::get<std::string_view>(s.parameters[0].get())));
  return rows{{}, 1};
}

scripted_session::answer scripted_session::run_savepoint(std::string_view sql) {
  if (!transaction_) return fail(native::failed);
  auto& server = world_->server;
  std::string const name(sql.substr(sql.rfind(' ') + 1));
  if (sql.starts_with("SAVEPOINT ")) {
    server.mark(*transaction_, name);
    return rows{};
  }
  bool const done = sql.starts_with("ROLLBACK TO ") ? server.back_to(*transaction_, name)
                    : sql.starts_with("RELEASE ")   ? server.release(*transaction_, name)
                                                    : false;
  if (done) {
    failed_ = false;
    return rows{};
  }
  fail_transaction();
  return fail(native::no_savepoint);
}

namespace {

void watch_release(scripted_world& w, scripted_session const& s, bool reusable) {
  if (reusable && !s.usable()) w.breaches.push_back("a lost connection given back as reusable");
  if (reusable && s.has_open_transaction())
    w.breaches.push_back("an open transaction given back as reusable");
}

}  // namespace

idem::result<idem::session*> scripted_source::acquire(idem::call_limits const&) {
  if (world_->step(port_call::acquire)) return fail(native::cannot_connect);
  if (idle_.empty()) {
    all_.push_back(std::make_unique<scripted_session>(*world_));
    return all_.back().get();
  }
  auto* const s = idle_.back();
  idle_.pop_back();
  return s;
}

void scripted_source::release(idem::session* given, bool reusable) noexcept {
  auto* const s = static_cast<scripted_session*>(given);
  watch_release(*world_, *s, reusable);
  if (reusable && s->reset()) {
    idle_.push_back(s);
    return;
  }
  std::erase_if(all_, [s](auto const& one) { return one.get() == s; });
}

idem::result<idem::session*> watched_lone_session::acquire(idem::call_limits const& limits) {
  if (world_->step(port_call::acquire)) return fail(native::cannot_connect);
  return lone_.acquire(limits);
}

void watched_lone_session::release(idem::session* given, bool reusable) noexcept {
  watch_release(*world_, session_, reusable);
  lone_.release(given, reusable);
}

}  // namespace idem_test
