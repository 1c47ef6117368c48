// SPDX-License-Identifier: BSL-1.0
#include "tests/support/run_scenarios.h"

#include <stdexcept>

namespace idem_test {

namespace {

using idem::answer;
using idem::errc;
using idem::error;
using idem::refusal;
using idem::refusal_policy;
using idem::result;

std::string as_bytes(std::span<std::byte const> b) {
  return {reinterpret_cast<char const*>(b.data()), b.size()};
}

idem::request make_request(char const* name, std::string_view content) {
  return idem::request::from_bytes({"tenant", "debit:v1", name}, content).value();
}

error failure(errc what) {
  error e;
  e.what = what;
  e.message = "the effect's own failure";
  return e;
}

// What may be there before the run.
void nothing(scripted_world&) {}

void seed(scripted_world& w, stored row) {
  w.server.records[the_key()] = std::move(row);
  w.server.effects.emplace_back(earlier);
}
void completed(scripted_world& w) {
  seed(w, earlier_record(the_request(), 1, idem::record_state::completed));
}
void refused_before(scripted_world& w) {
  w.server.records[the_key()] = earlier_record(the_request(), 1, idem::record_state::refused);
}
void other_content(scripted_world& w) {
  seed(w, earlier_record(other_request(), 1, idem::record_state::completed));
}
void older_rule(scripted_world& w) {
  seed(w, earlier_record(the_request(), idem::rehearsal_fingerprint_version,
                         idem::record_state::completed));
}
void unknown_rule(scripted_world& w) {
  auto row = earlier_record(the_request(), 1, idem::record_state::completed);
  row.version = 7;
  seed(w, std::move(row));
}
void half_done(scripted_world& w) {
  seed(w, earlier_record(the_request(), 1, idem::record_state::claimed));
}
void invisible(scripted_world& w) {
  completed(w);
  w.server.records_hidden = true;
}
void deadlock_ahead(scripted_world& w) { w.effect_errors = {fault_kind::deadlock}; }
void lock_timeout_ahead(scripted_world& w) { w.effect_errors = {fault_kind::lock_timeout}; }

// What the effect does.
result<answer> succeed(play const& p) {
  if (auto written = p.write(); !written) return std::unexpected(written.error());
  return the_response();
}
result<answer> refuse(play const& p) {
  if (auto written = p.write(); !written) return std::unexpected(written.error());
  return refusal{the_refusal()};
}
result<answer> refuse_without_savepoint(play const& p) {
  p.handle().native_release_savepoint();
  return refuse(p);
}
result<answer> throw_plainly(play const& p) {
  (void)p.write();
  throw thrown_by_effect{42};
}
// idem's own exception, with whatever error the write met.
result<answer> throw_an_error(play const& p) {
  p.write().value();
  return the_response();
}
result<answer> hide_a_deadlock(play const& p) {
  if (p.call > 1) return succeed(p);
  (void)p.write();
  p.handle().native_failure(fault_kind::deadlock);
  throw std::runtime_error("a query failed");
}
result<answer> return_error(play const& p) {
  if (auto written = p.write(); !written) return std::unexpected(written.error());
  return std::unexpected(failure(errc::statement_failed));
}
result<answer> swallow(play const& p) {
  if (p.write()) return the_response();
  return succeed(p);
}
result<answer> break_a_constraint(play const& p) {
  auto failed = p.tx.execute("EFFECT_DUPLICATE");
  if (!failed) return std::unexpected(failed.error());
  return the_response();
}
// A run on another database, inside this effect, ended in doubt.
result<answer> nested_doubt(play const& p) {
  (void)p.write();
  error e = failure(errc::commit_in_doubt);
  e.certainty = idem::certainty::in_doubt;
  e.advice = idem::advice::resolve_first;
  e.phase = idem::phase::commit;
  e.attempts = {idem::attempt_id{}};
  return std::unexpected(std::move(e));
}
result<answer> say_too_much(play const& p) {
  if (auto written = p.write(); !written) return std::unexpected(written.error());
  return idem::response{200, {}, std::string(most_response_bytes + 1, 'x')};
}
result<answer> commit_it(play const& p) {
  auto written = p.write();
  p.handle().native_commit();
  if (!written) return std::unexpected(written.error());
  return the_response();
}
result<answer> commit_and_chain(play const& p) {
  auto written = p.write();
  if (p.handle().native_commit()) p.handle().native_begin();
  if (!written) return std::unexpected(written.error());
  return the_response();
}
result<answer> roll_it_back(play const& p) {
  auto written = p.write();
  p.handle().native_rollback();
  if (!written) return std::unexpected(written.error());
  return the_response();
}
result<answer> roll_back_and_chain(play const& p) {
  auto written = p.write();
  if (p.handle().native_rollback()) p.handle().native_begin();
  if (!written) return std::unexpected(written.error());
  return the_response();
}
result<answer> commit_and_fail(play const& p) {
  (void)p.write();
  p.handle().native_commit();
  return std::unexpected(failure(errc::statement_failed));
}
result<answer> commit_and_throw(play const& p) {
  (void)p.write();
  p.handle().native_commit();
  throw thrown_by_effect{42};
}
result<answer> chain_and_throw(play const& p) {
  (void)p.write();
  if (p.handle().native_commit()) p.handle().native_begin();
  throw thrown_by_effect{42};
}
result<answer> chain_and_fail(play const& p) {
  (void)p.write();
  if (p.handle().native_commit()) p.handle().native_begin();
  return std::unexpected(failure(errc::statement_failed));
}
result<answer> chain_and_say_too_much(play const& p) {
  auto written = p.write();
  if (p.handle().native_commit()) p.handle().native_begin();
  if (!written) return std::unexpected(written.error());
  return idem::response{200, {}, std::string(most_response_bytes + 1, 'x')};
}
result<answer> chain_and_meet_a_deadlock(play const& p) {
  if (auto written = p.write(); !written) return std::unexpected(written.error());
  if (p.handle().native_commit()) p.handle().native_begin();
  p.world.effect_errors = {fault_kind::deadlock};
  return succeed(p);
}
result<answer> chain_and_refuse(play const& p) {
  auto written = p.write();
  if (p.handle().native_commit()) p.handle().native_begin();
  if (!written) return std::unexpected(written.error());
  return refusal{the_refusal()};
}

// The effect claims another identity in the run's transaction.
result<idem::claim_token> claim_second(play const& p) {
  auto claimed = p.store.claim(p.tx, second_request());
  if (!claimed) return std::unexpected(claimed.error());
  if (auto* token = std::get_if<idem::claim_token>(&*claimed)) return std::move(*token);
  return std::unexpected(failure(errc::statement_failed));
}
result<answer> complete_second(play const& p) {
  if (auto written = p.write(); !written) return std::unexpected(written.error());
  auto token = claim_second(p);
  if (!token) return std::unexpected(token.error());
  auto completed = p.store.complete(p.tx, std::move(*token), the_response());
  if (!completed) return std::unexpected(completed.error());
  return the_response();
}
result<answer> complete_second_and_refuse(play const& p) {
  auto done = complete_second(p);
  if (!done) return done;
  return refusal{the_refusal()};
}
result<answer> drop_second(play const& p) {
  auto token = claim_second(p);
  if (!token) return std::unexpected(token.error());
  return succeed(p);
}
result<answer> claim_its_own(play const& p) {
  auto claimed = p.store.claim(p.tx, the_request());
  if (!claimed) return std::unexpected(claimed.error());
  return succeed(p);
}

template <ending How>
expected_ending ends(flavour const&) {
  return {How, {}};
}
template <errc What>
expected_ending fails(flavour const&) {
  return {ending::failed, What};
}
expected_ending held(flavour const& f) {
  if (f.facts.claim_wait_names_identity) return {ending::in_progress, {}};
  return {ending::failed, errc::lock_timeout};
}
// Where the handle cannot commit, trying to is no harm.
expected_ending replaced_by_commit(flavour const& f) {
  return f.guards_commit ? expected_ending{} : fails<errc::transaction_replaced>(f);
}
expected_ending committed_and_failed(flavour const& f) {
  return f.guards_commit ? fails<errc::statement_failed>(f) : fails<errc::transaction_replaced>(f);
}
expected_ending committed_and_thrown(flavour const& f) {
  return f.guards_commit ? expected_ending{ending::thrown, {}}
                         : fails<errc::transaction_replaced>(f);
}
expected_ending chained_and_too_large(flavour const& f) {
  return f.guards_commit ? fails<errc::response_too_large>(f)
                         : fails<errc::transaction_replaced>(f);
}
// Where it cannot commit, every attempt meets its deadlock.
expected_ending chained_and_restarted(flavour const& f) {
  return f.guards_commit ? fails<errc::deadlock>(f) : fails<errc::incomplete>(f);
}
expected_ending chained_and_undone(flavour const& f) {
  if (f.guards_commit) return {ending::refused, {}};
  return fails<errc::transaction_replaced>(f);
}
expected_ending chained_and_refused(flavour const& f) {
  if (f.guards_commit) return {ending::refused_stored, {}};
  // The refusal is stored by claiming again, which finds what the effect committed.
  return fails<errc::incomplete>(f);
}

constexpr auto store_them = refusal_policy::store;
constexpr auto undo_them = refusal_policy::roll_back;

constexpr scenario scenarios[] = {
    {"first execution", nothing, succeed, ends<ending::executed>, undo_them, false, true},
    {"replay", completed, succeed, ends<ending::replayed>, undo_them, false, true},
    {"replay of a refusal", refused_before, succeed, ends<ending::replayed>},
    {"mismatch", other_content, succeed, ends<ending::mismatched>},
    {"older rule", older_rule, succeed, ends<ending::replayed>},
    {"unknown rule", unknown_rule, succeed, fails<errc::fingerprint_unknown>},
    {"incomplete record", half_done, succeed, fails<errc::incomplete>},
    {"invisible record", invisible, succeed, fails<errc::record_invisible>},
    {"in progress", nothing, succeed, held, undo_them, false, false, true},
    {"refusal rolled back", nothing, refuse, ends<ending::refused>, undo_them, false, true},
    {"refusal stored", nothing, refuse, ends<ending::refused_stored>, store_them, false, true},
    {"refusal, savepoint gone", nothing, refuse_without_savepoint, ends<ending::refused_stored>,
     store_them, false, true},
    {"effect throws", nothing, throw_plainly, ends<ending::thrown>, undo_them, false, true},
    {"effect throws an error", deadlock_ahead, throw_an_error, ends<ending::executed>},
    {"effect hides a deadlock", nothing, hide_a_deadlock, ends<ending::executed>},
    {"effect returns an error", nothing, return_error, fails<errc::statement_failed>},
    {"effect swallows a deadlock", deadlock_ahead, swallow, ends<ending::executed>, undo_them,
     false, true},
    {"effect swallows a lock timeout", lock_timeout_ahead, swallow, ends<ending::executed>},
    {"constraint in the effect", nothing, break_a_constraint, fails<errc::unique_violation>},
    {"doubt of a nested run", nothing, nested_doubt, fails<errc::commit_in_doubt>},
    {"response too large", nothing, say_too_much, fails<errc::response_too_large>},
    {"effect commits", nothing, commit_it, replaced_by_commit},
    {"effect commits and begins", nothing, commit_and_chain, replaced_by_commit},
    {"effect rolls back", nothing, roll_it_back, fails<errc::transaction_replaced>},
    {"effect rolls back and begins", nothing, roll_back_and_chain,
     fails<errc::transaction_replaced>},
    {"effect commits and fails", nothing, commit_and_fail, committed_and_failed},
    {"effect commits, begins, fails", nothing, chain_and_fail, committed_and_failed},
    {"effect commits and throws", nothing, commit_and_throw, committed_and_thrown},
    {"effect commits, begins, throws", nothing, chain_and_throw, committed_and_thrown},
    {"effect commits, begins, says too much", nothing, chain_and_say_too_much,
     chained_and_too_large},
    {"effect commits, begins, meets a deadlock", nothing, chain_and_meet_a_deadlock,
     chained_and_restarted},
    {"effect commits, begins, is undone", nothing, chain_and_refuse, chained_and_undone},
    {"effect commits, begins, refuses", nothing, chain_and_refuse, chained_and_refused, store_them},
    {"effect completes another claim", nothing, complete_second, ends<ending::executed>, undo_them,
     false, false, false, true},
    {"effect completes another, refuses", nothing, complete_second_and_refuse,
     ends<ending::refused>, undo_them, false, false, false, true},
    {"effect completes another, refusal stored", nothing, complete_second_and_refuse,
     ends<ending::refused_stored>, store_them, false, false, false, true},
    {"effect drops another claim", nothing, drop_second, fails<errc::transaction_aborted>},
    {"effect claims its own identity", nothing, claim_its_own, fails<errc::claim_open>},
    {"lone session", nothing, succeed, ends<ending::executed>, undo_them, true, true},
    {"lone session, replay", completed, succeed, ends<ending::replayed>, undo_them, true},
};

}  // namespace

idem::request const& the_request() {
  static idem::request const r = make_request("secret-key", "content");
  return r;
}

idem::request const& other_request() {
  static idem::request const r = make_request("secret-key", "other content");
  return r;
}

idem::request const& second_request() {
  static idem::request const r = make_request("second", "content");
  return r;
}

key second_key() { return {"tenant", "debit:v1", "second"}; }

key the_key() { return {"tenant", "debit:v1", "secret-key"}; }

idem::response the_response() { return {201, {{"n", "v"}}, std::string("done\0", 5)}; }

idem::response the_refusal() { return {402, {}, ""}; }

idem::result<> play::write() const {
  auto written = tx.execute("EFFECT ?", {mine});
  if (!written) return std::unexpected(written.error());
  return {};
}

std::span<scenario const> run_scenarios() { return scenarios; }

stored earlier_record(idem::request const& r, idem::fingerprint_version version,
                      idem::record_state state) {
  stored row;
  row.attempt = std::string(16, 'd');
  row.version = version;
  row.fingerprint = as_bytes(r.fingerprint(version).value().digest);
  row.state = static_cast<std::int64_t>(state);
  if (state != idem::record_state::claimed) {
    auto const answer = state == idem::record_state::refused ? the_refusal() : the_response();
    row.status = answer.status;
    row.headers = idem::encode_headers(answer);
    row.body = answer.body;
    row.has_body = true;
  }
  return row;
}

}  // namespace idem_test
