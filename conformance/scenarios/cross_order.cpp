// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/cross_order.h"

#include <utility>

#include "conformance/scenarios/held.h"

namespace idem::inline v1::conformance {

cross_order::cross_order(context& c)
    : context_(c),
      sessions_{&c.connect(), &c.connect()},
      keys_{c.make_operation("first key"), c.make_operation("second key")} {}

result<> cross_order::take_both(transaction& tx, std::size_t side) {
  taken_[side].clear();
  if (auto one = take_one(tx, side, keys_[side]); !one) return count(tx, one.error());
  meet(side);
  if (auto other = take_one(tx, side, keys_[1 - side]); !other) return count(tx, other.error());
  has_both_[side] = true;
  // So that the other one, victim or not, meets the keys again before they are committed.
  context_.await([&, other = 1 - side] {
    return has_both_[other] || over_[other] || context_.engine().waiting(*sessions_[other]);
  });
  return write_effects(tx, side);
}

// An error may say what became of the transaction; the code says why.
result<> cross_order::count(transaction& tx, error const& e) {
  auto const means = tx.session().sql().classify(e.native).what;
  if (e.what == errc::deadlock || means == errc::deadlock) ++deadlocks_;
  return std::unexpected(e);
}

// The response is saved at once: its effect follows in the same transaction.
result<> cross_order::take_one(transaction& tx, std::size_t side, operation const& key) {
  claim_options options;
  options.wait_limit = std::chrono::seconds(20);
  auto claimed = context_.idem().claim(tx, key.request, options);
  if (!claimed) return std::unexpected(std::move(claimed).error());
  if (auto* old = std::get_if<replayed>(&*claimed)) {
    taken_[side].push_back({key.tag, told::replayed, old->response.body.value_or("")});
    return {};
  }
  auto* token = std::get_if<claim_token>(&*claimed);
  if (token == nullptr) return declined();
  std::string const nonce = attempt_id::random().to_string();
  taken_[side].push_back({key.tag, told::executed, nonce});
  auto completed = context_.idem().complete(tx, std::move(*token), context_.response_with(nonce));
  if (!completed) return std::unexpected(std::move(completed).error());
  return {};
}

result<> cross_order::write_effects(transaction& tx, std::size_t side) {
  for (auto const& entry : taken_[side]) {
    if (entry.what != told::executed) continue;
    context_.count_body_call(entry.tag == keys_[0].tag ? keys_[0] : keys_[1]);
    auto written = context_.engine().write(tx, {entry.tag, entry.body, 0, 1});
    if (!written) return std::unexpected(std::move(written).error());
  }
  return {};
}

void cross_order::meet(std::size_t side) {
  ++arrivals_[side];
  auto const other = 1 - side;
  context_.await([&] {
    bool const kept_waiting = context_.engine().waiting(*sessions_[other]);
    if (kept_waiting) waited_ = true;
    return kept_waiting || arrivals_[other] > 0 || over_[other];
  });
}

void cross_order::committed(std::size_t side) {
  for (auto const& entry : taken_[side])
    context_.note(entry.tag == keys_[0].tag ? keys_[0] : keys_[1], entry.what, entry.body);
}

}  // namespace idem::inline v1::conformance
