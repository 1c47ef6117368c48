// SPDX-License-Identifier: BSL-1.0
// The protocol's single steps, shared by `run` and by `claim`/`complete`.
#include <chrono>
#include <utility>

#include "core/store_core.h"

namespace idem::inline v1::detail {

namespace {

std::unexpected<error> fail(errc what, advice next, std::string message) {
  error e;
  e.what = what;
  e.advice = next;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

std::unexpected<error> corrupt_record() {
  return fail(errc::corrupt, advice::never,
              "a stored record cannot be read: run 'idem schema verify' and restore the row");
}

template <std::size_t N>
bool read_fixed(value const& v, std::array<std::byte, N>& out) {
  auto const* bytes = std::get_if<blob>(&v);
  if (bytes == nullptr || bytes->bytes.size() != N) return false;
  for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<std::byte>(bytes->bytes[i]);
  return true;
}

template <class Integer>
bool read_integer(value const& v, Integer& out) {
  auto const* n = std::get_if<std::int64_t>(&v);
  if (n == nullptr || !std::in_range<Integer>(*n)) return false;
  out = static_cast<Integer>(*n);
  return true;
}

bool read_time(value const& v, std::optional<std::int64_t>& out) {
  if (is_null(v)) return true;
  return read_integer(v, out.emplace());
}

bool read_bytes(value const& v, std::optional<std::string>& out) {
  if (is_null(v)) return true;
  auto const* bytes = std::get_if<blob>(&v);
  if (bytes == nullptr) return false;
  out = bytes->bytes;
  return true;
}

constexpr std::size_t column_count = static_cast<std::size_t>(record_column::expires_at_us) + 1;

value const& column(std::vector<value> const& row, record_column c) {
  return row[static_cast<std::size_t>(c)];
}

// Where an engine keeps an empty body as NULL, `has_body` still tells.
bool read_body(std::vector<value> const& row, std::optional<std::string>& out) {
  std::int64_t has_body = 0;
  if (!read_integer(column(row, record_column::has_body), has_body)) return false;
  if (!read_bytes(column(row, record_column::body), out)) return false;
  if (has_body == 0) return !out.has_value();
  if (!out) out.emplace();
  return true;
}

result<record> decode(std::vector<value> const& row) {
  using column_name = record_column;
  if (row.size() != column_count) return corrupt_record();
  record r;
  std::uint8_t state = 0;
  std::optional<std::string> headers;
  auto const of = [&row](record_column c) -> value const& { return column(row, c); };
  bool const read = read_fixed(of(column_name::attempt), r.attempt.bytes) &&
                    read_integer(of(column_name::fingerprint_version), r.fingerprint.version) &&
                    read_fixed(of(column_name::fingerprint), r.fingerprint.digest) &&
                    read_bytes(of(column_name::canonical_request), r.canonical_request) &&
                    read_integer(of(column_name::state), state) &&
                    state <= static_cast<std::uint8_t>(record_state::refused) &&
                    read_integer(of(column_name::status), r.response.status) &&
                    read_bytes(of(column_name::headers), headers) &&
                    read_body(row, r.response.body) &&
                    read_integer(of(column_name::created_at_us), r.created_at_us) &&
                    read_time(of(column_name::completed_at_us), r.completed_at_us) &&
                    read_time(of(column_name::expires_at_us), r.expires_at_us);
  if (!read) return corrupt_record();
  r.state = static_cast<record_state>(state);
  auto decoded = decode_headers(headers.value_or(""));
  if (!decoded) return std::unexpected(std::move(decoded).error());
  r.response.headers = std::move(*decoded);
  return r;
}

result<std::optional<record>> first_record(rows const& found) {
  if (found.empty()) return std::optional<record>();
  auto decoded = decode(found[0]);
  if (!decoded) return std::unexpected(std::move(decoded).error());
  return std::optional<record>(std::move(*decoded));
}

blob_view as_blob(std::span<std::byte const> bytes) {
  return {std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size())};
}

std::array<parameter, 3> key_parameters(identity const& id) {
  return {parameter(blob_view{id.scope()}), parameter(blob_view{id.operation()}),
          parameter(blob_view{id.key()})};
}

// The views in it live as long as the arguments.
std::array<parameter, 8> claim_parameters(identity const& id, attempt_id const& attempt,
                                          fingerprint const& print,
                                          std::optional<std::string_view> canonical) {
  auto const keys = key_parameters(id);
  return {keys[0],
          keys[1],
          keys[2],
          as_blob(attempt.bytes),
          print.version,
          as_blob(print.digest),
          canonical ? parameter(blob_view{*canonical}) : parameter(),
          host_now_us()};
}

std::array<parameter, 8> claim_parameters(claim_input const& in, fingerprint const& print) {
  std::optional<std::string_view> canonical;
  if (in.store_canonical_request) canonical = in.request->canonical();
  return claim_parameters(in.request->identity(), in.attempt, print, canonical);
}

// The clock, if there is one, is the last parameter.
std::span<parameter const> without_clock(traits const& facts, std::span<parameter const> all) {
  return facts.binds_clock ? all : all.first(all.size() - 1);
}

result<claim_step> read_after_conflict(store_core const& core, session& s, identity const& id,
                                       call_limits const& limits) {
  auto const keys = key_parameters(id);
  statement const read{core.sql.read_winner, keys};
  auto answered = s.execute(std::span(&read, 1), limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  auto found = first_record(answered->front());
  if (!found) return std::unexpected(std::move(found).error());
  if (!*found) return claim_step(claim_invisible{});
  return claim_step(std::move(**found));
}

}  // namespace

std::unexpected<error> at(error e, phase where, certainty known) {
  e.phase = where;
  e.certainty = known;
  return std::unexpected(std::move(e));
}

std::int64_t host_now_us() {
  auto const since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
}

result<> run_one(session& s, std::string_view sql, call_limits const& limits) {
  statement const one{sql, {}};
  auto answered = s.execute(std::span(&one, 1), limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  return {};
}

namespace {

// Which of guard, claim, read, savepoint are sent together: the first of them, and how many.
std::pair<std::size_t, std::size_t> trip_of(traits const& facts, claim_savepoint savepoint) {
  if (savepoint == claim_savepoint::around) return {0, 4};
  if (!facts.pipelines) return {1, 1};
  return {1, savepoint == claim_savepoint::after ? 3 : 2};
}

}  // namespace

result<claim_step> send_claim(store_core const& core, session& s, claim_input const& in,
                              call_limits const& limits) {
  auto const& id = in.request->identity();
  auto print = in.request->fingerprint(in.write_version);
  if (!print) return std::unexpected(std::move(print).error());
  auto const all = claim_parameters(in, *print);
  auto const keys = key_parameters(id);
  bool const guarded = in.savepoint == claim_savepoint::around;
  std::array<statement, 4> const steps{
      statement{core.sql.guard, {}}, statement{core.sql.claim, without_clock(core.facts, all)},
      statement{core.sql.read_winner, keys},
      statement{guarded ? core.sql.release_guard : core.sql.savepoint, {}}};
  auto const [first, count] = trip_of(core.facts, in.savepoint);
  auto answered = s.execute(std::span(steps).subspan(first, count), limits);
  if (!answered) {
    bool const taken = core.facts.conflict == claim_conflict::unique_violation &&
                       answered.error().what == errc::unique_violation;
    if (taken) return read_after_conflict(core, s, id, limits);
    return std::unexpected(std::move(answered).error());
  }
  std::size_t const claim = 1 - first;
  if ((*answered)[claim].affected == 1) return claim_step(claim_inserted{});
  if (answered->size() <= claim + 1) return read_after_conflict(core, s, id, limits);
  auto found = first_record((*answered)[claim + 1]);
  if (!found) return std::unexpected(std::move(found).error());
  if (!*found) return claim_step(claim_invisible{});
  return claim_step(std::move(**found));
}

result<> send_claim_again(store_core const& core, session& s, identity const& id,
                          record const& half, call_limits const& limits) {
  auto const all = claim_parameters(id, half.attempt, half.fingerprint, half.canonical_request);
  statement const claim{core.sql.claim, without_clock(core.facts, all)};
  auto answered = s.execute(std::span(&claim, 1), limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  if (answered->front().affected == 1) return {};
  return fail(errc::save_unmatched, advice::never, "the record changed while it was repaired");
}

result<std::variant<replayed, mismatched>> judge(record const& r, request const& asked) {
  using judged = std::variant<replayed, mismatched>;
  auto print = asked.fingerprint(r.fingerprint.version);
  if (!print) return std::unexpected(std::move(print).error());
  if (*print != r.fingerprint) return judged(mismatched{});
  if (r.canonical_request && *r.canonical_request != asked.canonical()) return judged(mismatched{});
  if (r.state == record_state::claimed)
    return fail(errc::incomplete, advice::never,
                "the record was committed without a response: repair it with 'idem settle'");
  return judged(replayed{r.response, r.state == record_state::refused});
}

result<std::optional<record>> read_record(store_core const& core, session& s, identity const& id,
                                          call_limits const& limits) {
  auto const keys = key_parameters(id);
  statement const read{core.sql.find, keys};
  auto answered = s.execute(std::span(&read, 1), limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  return first_record(answered->front());
}

namespace {

struct save_parameters {
  std::string headers;
  std::array<parameter, 11> all;

  save_parameters(store_core const& core, identity const& id, attempt_id const& attempt,
                  record_state state, response const& r)
      : headers(encode_headers(r)) {
    auto const keys = key_parameters(id);
    auto const retention =
        std::chrono::duration_cast<std::chrono::microseconds>(core.options.retention).count();
    all = {static_cast<std::int64_t>(state),
           r.status,
           blob_view{headers},
           r.body ? parameter(blob_view{*r.body}) : parameter(),
           r.body.has_value(),
           static_cast<std::int64_t>(retention),
           keys[0],
           keys[1],
           keys[2],
           as_blob(attempt.bytes),
           host_now_us()};
  }
};

constexpr std::string_view unmatched_message =
    "the claim is no longer in its table: nothing may delete or change it before the commit";
constexpr std::string_view replaced_message =
    "the claim's transaction was ended before the save: an effect must not commit or roll back";

result<> prove_witness(store_core const& core, session& s, call_limits const& limits) {
  if (core.facts.witness != transaction_witness::savepoint) return {};
  auto released = run_one(s, core.sql.release_savepoint, limits);
  if (released) return {};
  error e = std::move(released).error();
  if (!means_replaced(e)) return std::unexpected(std::move(e));
  e.what = errc::transaction_replaced;
  e.message = replaced_message;
  return std::unexpected(std::move(e));
}

// Where the save itself is the witness, one that matches nothing tells of another transaction;
// but not while the claim's savepoint is there: then it is the row that is gone.
std::unexpected<error> save_failed(store_core const& core, session& s, attempt_id const& attempt,
                                   error e, call_limits const& limits) {
  if (e.what != errc::save_unmatched) return std::unexpected(std::move(e));
  bool replaced = false;
  if (core.facts.witness == transaction_witness::save) {
    auto back = run_one(s, core.sql.rollback_to_savepoint, limits);
    replaced = !back && means_replaced(back.error());
    if (!back && !replaced) {  // a lost connection, the caller's patience: which of the two?
      back.error().attempts = {attempt};
      return at(std::move(back).error(), phase::save, certainty::in_doubt);
    }
  }
  if (replaced) e.what = errc::transaction_replaced;
  e.message = replaced ? replaced_message : unmatched_message;
  return std::unexpected(std::move(e));
}

}  // namespace

result<whole_step> send_whole(store_core const& core, session& s, claim_input const& in,
                              isolation level, fixed_effect const& effect,
                              call_limits const& limits) {
  auto const& id = in.request->identity();
  auto print = in.request->fingerprint(in.write_version);
  if (!print) return std::unexpected(std::move(print).error());
  auto const claim = claim_parameters(in, *print);
  save_parameters const save(core, id, in.attempt, record_state::completed, effect.response);
  auto const keys = key_parameters(id);
  std::array<parameter, 4> const look{keys[0], keys[1], keys[2], as_blob(in.attempt.bytes)};
  auto answered = s.run_whole({.isolation = level,
                               .claim = {core.sql.claim_or_fail, without_clock(core.facts, claim)},
                               .effect = effect.statements,
                               .save = {core.sql.save, without_clock(core.facts, save.all)},
                               .look = {core.sql.find_of_another, look}},
                              limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  whole_step step{std::move(answered->failure), std::nullopt};
  bool const undone = step.failure && step.failure->certainty != certainty::in_doubt;
  if (!undone || !answered->found) return step;
  auto other = *answered->found ? first_record(**answered->found)
                                : std::unexpected(std::move(*answered->found).error());
  if (other) {
    step.other = std::move(*other);
  } else if (step.failure->what == errc::unique_violation && step.failure->phase == phase::claim) {
    step.failure = std::move(other).error();
    step.failure->phase = phase::claim;
    step.failure->certainty = certainty::rolled_back;
  }
  return step;
}

bool waited_for_identity(store_core const& core, error const& e) noexcept {
  return e.what == errc::lock_timeout && core.facts.claim_wait_names_identity && !e.wait_unnamed;
}

bool means_replaced(error const& e) noexcept {
  return e.advice == advice::never && e.what != errc::cancelled &&
         e.what != errc::deadline_exceeded && e.what != errc::session_not_idle;
}

result<> send_save(store_core const& core, session& s, identity const& id,
                   attempt_id const& attempt, record_state state, response const& r,
                   call_limits const& limits) {
  if (auto proven = prove_witness(core, s, limits); !proven) return proven;
  save_parameters const parameters(core, id, attempt, state, r);
  statement const save{core.sql.save, without_clock(core.facts, parameters.all)};
  auto answered = s.execute(std::span(&save, 1), limits);
  if (!answered) return save_failed(core, s, attempt, std::move(answered).error(), limits);
  if (core.facts.save_fails_in_server || answered->front().affected == 1) return {};
  auto unmatched = fail(errc::save_unmatched, advice::never, std::string(unmatched_message));
  return save_failed(core, s, attempt, std::move(unmatched).error(), limits);
}

result<> save_and_commit(store_core const& core, session& s, identity const& id,
                         attempt_id const& attempt, record_state state, response const& r,
                         call_limits const& limits) {
  if (!core.facts.save_fails_in_server) {
    if (auto saved = send_save(core, s, id, attempt, state, r, limits); !saved)
      return at(std::move(saved).error(), phase::save, certainty::rolled_back);
    return s.commit({}, limits);
  }
  if (auto proven = prove_witness(core, s, limits); !proven)
    return at(std::move(proven).error(), phase::save, certainty::rolled_back);
  save_parameters const parameters(core, id, attempt, state, r);
  statement const save{core.sql.save, without_clock(core.facts, parameters.all)};
  auto committed = s.commit(std::span(&save, 1), limits);
  if (!committed) return save_failed(core, s, attempt, std::move(committed).error(), limits);
  return {};
}

result<> check_response(store_core const& core, response const& r) {
  auto const size = stored_size(r);
  if (size <= core.options.max_response_bytes) return {};
  return fail(errc::response_too_large, advice::never,
              "the response has " + std::to_string(size) + " bytes, the store allows " +
                  std::to_string(core.options.max_response_bytes) +
                  " (max_response_bytes): nothing was kept");
}

}  // namespace idem::inline v1::detail
