// SPDX-License-Identifier: BSL-1.0
// Stores that touch what is not theirs: S16, S18.
#include <string>
#include <utility>
#include <vector>

#include <idem/transaction.h>

#include "conformance/saboteurs/makers.h"
#include "conformance/saboteurs/protocol_session.h"

namespace idem::inline v1::conformance {

namespace {

// Its cleaner takes the records of the identities that a transaction asked for when that ends
// without a commit: for leftovers, it thinks.
class cleaning_session final : public protocol_session {
 public:
  cleaning_session(std::unique_ptr<session> real, subject& s)
      : protocol_session(std::move(real), s), subject_(s) {}

  result<> begin(begin_options const& o) override {
    asked_for_.clear();
    return protocol_session::begin(o);
  }
  result<> rollback() noexcept override try {
    if (auto ended = protocol_session::rollback(); !ended) return ended;
    return clean();
  } catch (...) {
    return std::unexpected(error{});
  }

 private:
  result<rows> one(statement_kind kind, statement const& s, call_limits const& l) override {
    if (kind == statement_kind::claim) asked_for_.emplace_back(s);
    return pass(s, l);
  }
  result<> finish(call_limits const& l) override {
    auto committed = protocol_session::finish(l);
    if (committed) asked_for_.clear();
    return committed;
  }

  result<> clean() {
    for (auto const& claim : std::exchange(asked_for_, {})) {
      auto const parameters = claim.parameters();
      auto id = identity::make({text(parameters[0]), text(parameters[1]), text(parameters[2])});
      if (!id) return std::unexpected(std::move(id).error());
      auto tx = transaction::begin(real());
      if (!tx) return std::unexpected(std::move(tx).error());
      if (auto deleted = subject_.delete_record(*tx, *id); !deleted) return deleted;
      if (auto committed = tx->commit(); !committed) return committed;
    }
    return {};
  }
  static std::string_view text(parameter const& p) {
    auto const* bytes = std::get_if<blob_view>(&p.get());
    return bytes != nullptr ? bytes->bytes : std::string_view();
  }

  subject& subject_;
  std::vector<kept_statement> asked_for_;
};

// Gives its session back as it is, with the transaction open.
class careless_rollback_session final : public session_decorator {
 public:
  careless_rollback_session(std::unique_ptr<session> real, subject&)
      : session_decorator(std::move(real)) {}

  result<> rollback() noexcept override { return {}; }
  result<> reset() noexcept override { return {}; }
};

// Takes any session, and ends what is open on it: as START TRANSACTION does on MySQL.
class careless_contract final : public on_sessions<careless_rollback_session> {
 public:
  using on_sessions::on_sessions;

  result<outcome> run(session_source& source, request const& r, effect_function const& f,
                      run_options const& o) override {
    {
      auto lease = session_lease::acquire(source, {});
      if (!lease) return std::unexpected(std::move(lease).error());
      auto status = (*lease)->status();
      if (status && *status == transaction_status::open)
        if (auto ended = (*lease)->commit({}, {}); !ended)
          return std::unexpected(std::move(ended).error());
    }
    return on_sessions::run(source, r, f, o);
  }
};

}  // namespace

std::unique_ptr<contract> eager_cleaner(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<on_sessions<cleaning_session>>(std::move(real), s);
}
std::unique_ptr<contract> careless_session(std::unique_ptr<contract> real, subject& s) {
  return std::make_unique<careless_contract>(std::move(real), s);
}

}  // namespace idem::inline v1::conformance
