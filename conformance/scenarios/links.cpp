// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/links.h"

namespace idem::inline v1::conformance {

namespace {

std::unexpected<error> cut_off() {
  error e;
  e.what = errc::connection_lost;
  e.advice = advice::new_connection;
  e.message = "the connection was cut by the scenario";
  return std::unexpected(std::move(e));
}

}  // namespace

void cuttable_session::cut(bool noticed) {
  real_.reset();
  noticed_ = noticed;
}

result<transaction_status> cuttable_session::status() {
  if (real_) return real_->status();
  return noticed_ ? transaction_status::unknown : transaction_status::idle;
}

// As the port allows, BEGIN may travel with the first statement.
result<> cuttable_session::begin(begin_options const& o) {
  if (real_) return real_->begin(o);
  if (noticed_) return cut_off();
  return {};
}

result<> cuttable_session::commit(std::span<statement const> last, call_limits const& l) {
  ++commits_;
  if (real_) return real_->commit(last, l);
  error e = cut_off().error();
  e.phase = phase::commit;
  e.certainty = certainty::rolled_back;
  return std::unexpected(std::move(e));
}

result<> cuttable_session::rollback() noexcept try {
  if (real_) return real_->rollback();
  ++failed_rollbacks_;
  return cut_off();
} catch (...) {
  return std::unexpected(error{});
}

result<std::vector<rows>> cuttable_session::execute(std::span<statement const> s,
                                                    call_limits const& l) {
  if (real_) return real_->execute(s, l);
  noticed_ = true;
  return std::unexpected(cut_off().error());
}

// A pool keeps what it does not know to be broken.
result<> cuttable_session::reset() noexcept try {
  if (real_) return real_->reset();
  if (noticed_) return cut_off();
  return {};
} catch (...) {
  return std::unexpected(error{});
}

void* cuttable_session::native_handle() noexcept {
  return real_ ? real_->native_handle() : nullptr;
}

std::optional<error> cuttable_session::pending_error() noexcept {
  return real_ ? real_->pending_error() : std::nullopt;
}

cuttable_pool::cuttable_pool(context& c)
    : context_(c), pool_([this](call_limits const&) { return open(); }, 1) {}

result<std::unique_ptr<session>> cuttable_pool::open() {
  auto opened = context_.engine().connect();
  if (!opened) return opened;
  auto cuttable = std::make_unique<cuttable_session>(std::move(*opened));
  last_ = cuttable.get();
  ++opened_;
  return context_.idem().adapt(std::move(cuttable));
}

}  // namespace idem::inline v1::conformance
