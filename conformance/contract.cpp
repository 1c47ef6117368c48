// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/contract.h>

#include <utility>

namespace idem::inline v1::conformance {

namespace {

class store_contract final : public contract {
 public:
  explicit store_contract(store s) : store_(std::move(s)) {}

  result<request> from_bytes(identity_parts id, std::optional<std::string_view> bytes) override {
    return request::from_bytes(id, bytes);
  }
  result<request> from_fields(identity_parts id, std::span<field const> fields) override {
    return request::from_fields(id, fields);
  }
  result<request> from_json(identity_parts id, std::string_view json, json_options o) override {
    return request::from_json(id, json, std::move(o));
  }
  result<fingerprint> fingerprint_of(request const& r, fingerprint_version v) override {
    return r.fingerprint(v);
  }
  result<outcome> run(session_source& source, request const& r, effect_function const& f,
                      run_options const& o) override {
    return store_.run(source, r, f, o);
  }
  result<outcome> run_fixed(session_source& source, request const& r, fixed_effect const& f,
                            run_options const& o) override {
    return store_.run_fixed(source, r, f, o);
  }
  result<claim_result> claim(transaction& tx, request const& r, claim_options const& o) override {
    return store_.claim(tx, r, o);
  }
  result<attempt_id> complete(transaction& tx, claim_token&& t, response const& r) override {
    return store_.complete(tx, std::move(t), r);
  }
  result<std::optional<record>> find(session& s, identity const& id) override {
    return store_.find(s, id);
  }
  result<resolution> resolve(session& s, request const& r,
                             std::span<attempt_id const> attempts) override {
    return store_.resolve(s, r, attempts);
  }
  result<bool> settle(session& s, identity const& id, settlement const& how) override {
    return store_.settle(s, id, how);
  }

 private:
  store store_;
};

}  // namespace

std::unique_ptr<contract> make_contract(store s) {
  return std::make_unique<store_contract>(std::move(s));
}

result<request> contract_decorator::from_bytes(identity_parts id,
                                               std::optional<std::string_view> bytes) {
  return real_->from_bytes(id, bytes);
}
result<request> contract_decorator::from_fields(identity_parts id, std::span<field const> fields) {
  return real_->from_fields(id, fields);
}
result<request> contract_decorator::from_json(identity_parts id, std::string_view json,
                                              json_options o) {
  return real_->from_json(id, json, std::move(o));
}
result<fingerprint> contract_decorator::fingerprint_of(request const& r, fingerprint_version v) {
  return real_->fingerprint_of(r, v);
}
result<outcome> contract_decorator::run(session_source& source, request const& r,
                                        effect_function const& f, run_options const& o) {
  return real_->run(source, r, f, o);
}
result<outcome> contract_decorator::run_fixed(session_source& source, request const& r,
                                              fixed_effect const& f, run_options const& o) {
  return real_->run_fixed(source, r, f, o);
}
result<claim_result> contract_decorator::claim(transaction& tx, request const& r,
                                               claim_options const& o) {
  return real_->claim(tx, r, o);
}
result<attempt_id> contract_decorator::complete(transaction& tx, claim_token&& t,
                                                response const& r) {
  return real_->complete(tx, std::move(t), r);
}
result<std::optional<record>> contract_decorator::find(session& s, identity const& id) {
  return real_->find(s, id);
}
result<resolution> contract_decorator::resolve(session& s, request const& r,
                                               std::span<attempt_id const> attempts) {
  return real_->resolve(s, r, attempts);
}
result<bool> contract_decorator::settle(session& s, identity const& id, settlement const& how) {
  return real_->settle(s, id, how);
}
std::unique_ptr<session> contract_decorator::adapt(std::unique_ptr<session> s) {
  return real_->adapt(std::move(s));
}

session& innermost(session& s) noexcept {
  auto* decorator = dynamic_cast<session_decorator*>(&s);
  return decorator == nullptr ? s : innermost(decorator->real());
}

}  // namespace idem::inline v1::conformance
