// SPDX-License-Identifier: BSL-1.0
#include <utility>

#include <idem/conformance/context.h>

namespace idem::inline v1::conformance {

stepwise::stepwise(context& c, session& s, operation const& op)
    : context_(c), session_(s), op_(op) {}

result<> stepwise::begin(std::chrono::milliseconds wait) {
  begin_options options;
  options.limits.wait_limit = wait;
  auto begun = transaction::begin(session_, options);
  if (!begun) return std::unexpected(std::move(begun).error());
  transaction_.emplace(std::move(*begun));
  return {};
}

result<std::string> stepwise::claim(std::chrono::milliseconds wait) {
  claim_options options;
  options.wait_limit = wait;
  auto claimed = context_.idem().claim(*transaction_, op_.request, options);
  if (!claimed) {
    context_.note(op_, told::failed);
    return std::unexpected(std::move(claimed).error());
  }
  if (auto* token = std::get_if<claim_token>(&*claimed)) {
    token_.emplace(std::move(*token));
    return "claimed";
  }
  if (auto* answer = std::get_if<replayed>(&*claimed)) {
    replayed_ = std::move(*answer);
    return "replayed";
  }
  bool const other = std::holds_alternative<mismatched>(*claimed);
  context_.note(op_, other ? told::mismatched : told::in_progress);
  return other ? "mismatched" : "in_progress";
}

result<> stepwise::effect() {
  auto nonce = context_.write_effect(*transaction_, op_);
  if (!nonce) return std::unexpected(std::move(nonce).error());
  body_ = std::move(*nonce);
  return {};
}

result<> stepwise::complete() {
  if (!token_) {
    error e;
    e.what = errc::transaction_not_open;
    e.message = "nothing was claimed";
    return std::unexpected(std::move(e));
  }
  claim_token token = std::move(*token_);
  token_.reset();
  auto completed =
      context_.idem().complete(*transaction_, std::move(token), context_.response_with(body_));
  if (!completed) return std::unexpected(std::move(completed).error());
  completed_ = true;
  return {};
}

// Outcomes inside a caller's transaction are provisional: what was told counts from here.
result<> stepwise::commit() {
  auto committed = transaction_->commit();
  if (!committed) {
    bool const unknown = committed.error().certainty == certainty::in_doubt;
    context_.note(op_, unknown ? told::unknown : told::failed);
    return committed;
  }
  if (completed_) context_.note(op_, told::executed, body_);
  if (replayed_)
    context_.note(op_, replayed_->was_refusal ? told::refusal_stored : told::replayed,
                  replayed_->response.body.value_or(""));
  return {};
}

result<> stepwise::rollback() {
  token_.reset();
  auto ended = transaction_->rollback();
  if (ended) context_.note(op_, told::failed);
  return ended;
}

}  // namespace idem::inline v1::conformance
