// SPDX-License-Identifier: BSL-1.0
#include <idem/store.h>

#include <algorithm>
#include <utility>

#include "core/notify.h"
#include "core/run.h"
#include "core/store_core.h"

namespace idem::inline v1 {

namespace {

std::unexpected<error> fail(errc what, phase where, std::string message,
                            advice next = advice::never) {
  error e;
  e.what = what;
  e.phase = where;
  e.advice = next;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

result<> check_store_options(store_options const& o) {
  if (o.max_response_bytes < 1 || o.max_response_bytes > (std::size_t{512} << 20))
    return invalid_argument("max_response_bytes must be 1 to 512 MiB");
  if (o.retention < std::chrono::seconds(1) || o.retention > std::chrono::hours(24 * 36525))
    return invalid_argument("retention must be 1 second to 100 years");
  return {};
}

result<> check_version(session& s, table_names const& names) {
  auto installed = schema::installed_version(s, names);
  if (!installed) return std::unexpected(std::move(installed).error());
  auto const newest = schema::newest_version(s.sql());
  if (*installed == newest) return {};
  if (*installed == 0)
    return fail(errc::schema_missing, phase::schema,
                "idem's tables are not installed: there is no " + names.schema + "." +
                    names.prefix +
                    "schema_version; run 'idem schema install --target URL', or correct schema "
                    "and prefix");
  if (*installed < newest)
    return fail(errc::schema_invalid, phase::schema,
                "idem's tables are of version " + std::to_string(*installed) +
                    ", this library needs " + std::to_string(newest) +
                    ": run 'idem schema install --target URL'");
  return fail(errc::schema_newer, phase::schema,
              "idem's tables are of version " + std::to_string(*installed) +
                  ", this library knows up to " + std::to_string(newest) + ": upgrade the library");
}

}  // namespace

namespace detail {

error with_schema_hint(error e) {
  bool const ours = e.phase == phase::claim || e.phase == phase::save || e.phase == phase::resolve;
  bool const refused = e.what == errc::statement_failed || e.what == errc::unique_violation ||
                       e.what == errc::constraint_violation;
  if (ours && refused)
    e.message +=
        ": a statement of idem's own; 'idem schema verify' says if its tables have changed";
  return e;
}

rendered_statements render_statements(dialect const& d, table_names const& names) {
  return {schema::render(d.sql.claim, names),
          schema::render(d.sql.find, names),
          schema::render(d.sql.read_winner, names),
          schema::render(d.sql.save, names),
          schema::render(d.sql.discard, names),
          schema::render(d.sql.savepoint, names),
          schema::render(d.sql.rollback_to_savepoint, names),
          schema::render(d.sql.release_savepoint, names),
          schema::render(d.sql.guard, names),
          schema::render(d.sql.rollback_to_guard, names),
          schema::render(d.sql.release_guard, names),
          schema::render(d.sql.claim_or_fail, names),
          schema::render(d.sql.find_of_another, names)};
}

}  // namespace detail

store::store(std::shared_ptr<detail::store_core const> core) : core_(std::move(core)) {}

result<store> store::open(session& s, store_options options) {
  if (auto valid = check_store_options(options); !valid)
    return std::unexpected(std::move(valid).error());
  auto names = schema::check_names(s.sql(), {options.schema, options.prefix});
  if (!names) return std::unexpected(std::move(names).error());
  if (auto current = check_version(s, *names); !current)
    return std::unexpected(std::move(current).error());
  auto core = std::make_shared<detail::store_core>();
  core->dialect_name = s.sql().name;
  core->facts = s.sql().facts;
  core->sql = detail::render_statements(s.sql(), *names);
  core->names = std::move(*names);
  core->options = std::move(options);
  return store(std::move(core));
}

result<store> store::open(session_source& source, store_options options) {
  auto lease = session_lease::acquire(source, {});
  if (!lease) return std::unexpected(std::move(lease).error());
  return open(**lease, std::move(options));
}

result<outcome> store::run_erased(session_source& source, request const& r, detail::effect_ref f,
                                  run_options const& options) const {
  return detail::run_operation(*core_, source, r, f, options).go();
}

result<outcome> store::run_fixed(session_source& source, request const& r, fixed_effect const& f,
                                 run_options const& options) const {
  if (auto fits = detail::check_response(*core_, f.response); !fits)
    return std::unexpected(std::move(fits).error());
  auto in_turn = [&f](transaction& tx) -> result<response> {
    for (auto const& one : f.statements)
      if (auto done = tx.execute(one.sql, one.parameters); !done)
        return std::unexpected(std::move(done).error());
    return f.response;
  };
  return detail::run_operation(*core_, source, r, detail::effect_ref(in_turn), options, &f).go();
}

result<std::optional<record>> store::find(session& s, identity const& id,
                                          call_limits const& limits) const {
  auto found = detail::read_record(*core_, s, id, limits);
  if (found) return found;
  auto failed = detail::at(std::move(found).error(), phase::resolve, certainty::not_executed);
  return std::unexpected(detail::with_schema_hint(std::move(failed).error()));
}

result<resolution> store::resolve(session& s, request const& r,
                                  std::span<attempt_id const> attempts,
                                  call_limits const& limits) const {
  return detail::resolve_attempts(*core_, s, r, attempts, limits);
}

namespace {

result<> discard(detail::store_core const& core, session& s, identity const& id,
                 attempt_id const& attempt, call_limits const& limits) {
  auto const bytes =
      std::string_view(reinterpret_cast<char const*>(attempt.bytes.data()), attempt.bytes.size());
  std::array<parameter, 4> const parameters{blob_view{id.scope()}, blob_view{id.operation()},
                                            blob_view{id.key()}, blob_view{bytes}};
  statement const one{core.sql.discard, parameters};
  auto answered = s.execute(std::span(&one, 1), limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  if (answered->front().affected == 1) return {};
  return fail(errc::save_unmatched, phase::save, "the record changed while it was repaired");
}

// Claimed anew before it is saved: where the save is the witness it knows only claims of its
// own transaction.
result<> repair(detail::store_core const& core, session& s, identity const& id, record const& half,
                settlement const& how, call_limits const& limits) {
  auto const* as = std::get_if<settle_as_executed>(&how);
  if (as != nullptr) {
    if (auto fits = detail::check_response(core, as->response); !fits) return fits;
  }
  auto discarded = discard(core, s, id, half.attempt, limits);
  if (!discarded || as == nullptr) return discarded;
  auto claimed = detail::send_claim_again(core, s, id, half, limits);
  if (!claimed) return claimed;
  if (auto marked = detail::run_one(s, core.sql.savepoint, limits); !marked) return marked;
  return detail::send_save(core, s, id, half.attempt, record_state::completed, as->response,
                           limits);
}

}  // namespace

result<bool> store::settle(session& s, identity const& id, settlement const& how,
                           call_limits const& limits) const {
  begin_options options;
  options.limits = limits;
  auto tx = transaction::begin(s, options, core_->options.observer);
  if (!tx) return std::unexpected(std::move(tx).error());
  auto found = detail::read_record(*core_, s, id, limits);
  if (!found) {
    auto failed = detail::at(std::move(found).error(), phase::resolve, certainty::rolled_back);
    return std::unexpected(detail::with_schema_hint(std::move(failed).error()));
  }
  if (!*found) return false;
  if ((*found)->state != record_state::claimed)
    return invalid_argument("the record has a response: there is nothing to settle");
  if (auto repaired = repair(*core_, s, id, **found, how, limits); !repaired)
    return detail::at(std::move(repaired).error(), phase::save, certainty::rolled_back);
  if (auto committed = tx->commit(); !committed)
    return std::unexpected(std::move(committed).error());
  return true;
}

}  // namespace idem::inline v1
