// SPDX-License-Identifier: BSL-1.0
// Stores that answer wrongly: S0, S4, S5, S6, S24, S27.
#include <algorithm>
#include <utility>

#include "conformance/saboteurs/makers.h"
#include "conformance/saboteurs/spoiled_contract.h"

namespace idem::inline v1::conformance {

namespace {

constexpr identity_parts anything{"anyone", "anything", "any key"};

class null_contract final : public contract_decorator {
 public:
  using contract_decorator::contract_decorator;

  result<request> from_bytes(identity_parts id, std::optional<std::string_view> bytes) override {
    auto made = contract_decorator::from_bytes(id, bytes);
    return made ? made : contract_decorator::from_bytes(anything, bytes);
  }
  result<request> from_fields(identity_parts id, std::span<field const> fields) override {
    auto made = contract_decorator::from_fields(id, fields);
    return made ? made : from_bytes(id, std::nullopt);
  }
  result<request> from_json(identity_parts id, std::string_view json, json_options o) override {
    auto made = contract_decorator::from_json(id, json, std::move(o));
    return made ? made : from_bytes(id, json);
  }
  result<fingerprint> fingerprint_of(request const&, fingerprint_version) override {
    return fingerprint{};
  }
  result<outcome> run(session_source&, request const&, effect_function const&,
                      run_options const&) override {
    return outcome(executed{{}, attempt_id::random()});
  }
  result<outcome> run_fixed(session_source&, request const&, fixed_effect const&,
                            run_options const&) override {
    return outcome(executed{{}, attempt_id::random()});
  }
  result<claim_result> claim(transaction&, request const&, claim_options const&) override {
    return claim_result(replayed{});
  }
  result<attempt_id> complete(transaction&, claim_token&&, response const&) override {
    return attempt_id::random();
  }
  result<std::optional<record>> find(session&, identity const&) override {
    return std::optional<record>();
  }
  result<resolution> resolve(session&, request const&, std::span<attempt_id const>) override {
    return resolution(resolved::absent{});
  }
  result<bool> settle(session&, identity const&, settlement const&) override { return true; }
};

// Also where the record has no response at all.
class empty_replay_contract final : public spoiled_contract {
 public:
  using spoiled_contract::spoiled_contract;

  result<outcome> run(session_source& source, request const& r, effect_function const& f,
                      run_options const& o) override {
    auto answered = spoiled_contract::run(source, r, f, o);
    if (is_incomplete(answered)) return outcome(replayed{});
    return answered;
  }
  result<claim_result> claim(transaction& tx, request const& r, claim_options const& o) override {
    auto answered = spoiled_contract::claim(tx, r, o);
    if (is_incomplete(answered)) return claim_result(replayed{});
    return answered;
  }
  result<resolution> resolve(session& s, request const& r,
                             std::span<attempt_id const> attempts) override {
    auto answered = spoiled_contract::resolve(s, r, attempts);
    if (is_incomplete(answered)) return resolution(resolved::replayed{});
    return answered;
  }

 private:
  template <class Answered>
  static bool is_incomplete(result<Answered> const& answered) {
    return !answered && answered.error().what == errc::incomplete;
  }
  void spoil(response& r) const override { r = {}; }
};

class blind_contract final : public spoiled_contract {
 public:
  using spoiled_contract::spoiled_contract;

 private:
  bool takes_for_same(fingerprint const&, request const&) const override { return true; }
};

// Two bytes rather than the eight that some compare: a chance hit is in reach of a scenario.
class short_fingerprint_contract final : public spoiled_contract {
 public:
  using spoiled_contract::spoiled_contract;

  result<fingerprint> fingerprint_of(request const& r, fingerprint_version v) override {
    auto print = spoiled_contract::fingerprint_of(r, v);
    if (print) std::fill(print->digest.begin() + compared, print->digest.end(), std::byte{0});
    return print;
  }

 private:
  static constexpr std::ptrdiff_t compared = 2;

  bool takes_for_same(fingerprint const& stored, request const& r) const override {
    auto const asked = r.fingerprint(stored.version);
    return asked && std::equal(asked->digest.begin(), asked->digest.begin() + compared,
                               stored.digest.begin());
  }
};

class duplicate_contract final : public contract_decorator {
 public:
  using contract_decorator::contract_decorator;

  result<outcome> run(session_source& source, request const& r, effect_function const& f,
                      run_options const& o) override {
    auto answered = contract_decorator::run(source, r, f, o);
    return answered ? answered : outcome(replayed{});
  }
  result<outcome> run_fixed(session_source& source, request const& r, fixed_effect const& f,
                            run_options const& o) override {
    auto answered = contract_decorator::run_fixed(source, r, f, o);
    return answered ? answered : outcome(replayed{});
  }
  result<claim_result> claim(transaction& tx, request const& r, claim_options const& o) override {
    auto answered = contract_decorator::claim(tx, r, o);
    if (!answered) return claim_result(replayed{});
    return answered;
  }
};

// As where the claim of a fixed effect is an insert that does nothing on a taken key: no error
// keeps the statements behind it from being run.
class unstopped_contract final : public contract_decorator {
 public:
  using contract_decorator::contract_decorator;

  result<outcome> run_fixed(session_source& source, request const& r, fixed_effect const& f,
                            run_options const& o) override {
    auto answered = contract_decorator::run_fixed(source, r, f, o);
    bool const taken = answered && (std::holds_alternative<replayed>(*answered) ||
                                    std::holds_alternative<mismatched>(*answered));
    if (!taken) return answered;
    auto lease = session_lease::acquire(source, {});
    if (!lease) return std::unexpected(std::move(lease).error());
    auto tx = transaction::begin(**lease);
    if (!tx) return std::unexpected(std::move(tx).error());
    for (auto const& one : f.statements)
      if (auto done = tx->execute(one.sql, one.parameters); !done)
        return std::unexpected(std::move(done).error());
    if (auto committed = tx->commit(); !committed)
      return std::unexpected(std::move(committed).error());
    return answered;
  }
};

}  // namespace

std::unique_ptr<contract> unstopped_by_conflict(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<unstopped_contract>(std::move(real));
}
std::unique_ptr<contract> null_store(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<null_contract>(std::move(real));
}
std::unique_ptr<contract> empty_replay(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<empty_replay_contract>(std::move(real));
}
std::unique_ptr<contract> blind_to_content(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<blind_contract>(std::move(real));
}
std::unique_ptr<contract> short_fingerprint(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<short_fingerprint_contract>(std::move(real));
}
std::unique_ptr<contract> every_error_a_duplicate(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<duplicate_contract>(std::move(real));
}

}  // namespace idem::inline v1::conformance
