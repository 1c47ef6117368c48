// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/journal.h"

#include <utility>

namespace idem::inline v1::conformance {

namespace {

relay_traffic& traffic(relay_counts& counts, direction way) {
  return way == direction::to_server ? counts.to_server : counts.to_client;
}

}  // namespace

std::size_t relay_traffic::total() const {
  std::size_t sum = 0;
  for (auto const& [type, count] : messages) sum += count;
  return sum;
}

std::string_view to_string(relay_action action) noexcept {
  constexpr std::string_view names[] = {
      "accepted", "not accepted", "unreachable", "passed", "dropped", "held", "refused",
      "fault",    "replaced",     "released",    "end",    "lost",    "over"};
  auto const place = static_cast<std::size_t>(action);
  return place < std::size(names) ? names[place] : "unknown";
}

void journal::arm(std::optional<fault_plan> plan) {
  plan_ = std::move(plan);
  matched_ = 0;
  fired_ = false;
}

bool journal::strikes(std::size_t connection, message const& m) {
  if (!plan_ || m.way != plan_->way) return false;
  if (plan_->connection && *plan_->connection != connection) return false;
  if (plan_->matches && !plan_->matches(m)) return false;
  if (matched_++ != plan_->index) return false;
  fired_ = true;
  return true;
}

void journal::count_connection(std::size_t connection) {
  ++all_.connections;
  ++each_[connection].connections;
}

void journal::count_message(std::size_t connection, message const& m) {
  ++traffic(all_, m.way).messages[m.type];
  ++traffic(each_[connection], m.way).messages[m.type];
}

void journal::count_bytes(std::size_t connection, direction way, std::size_t bytes) {
  traffic(all_, way).bytes += bytes;
  traffic(each_[connection], way).bytes += bytes;
}

void journal::count_round_trip(std::size_t connection) {
  ++all_.round_trips;
  ++each_[connection].round_trips;
}

relay_counts journal::counts(std::size_t connection) const {
  auto const found = each_.find(connection);
  return found == each_.end() ? relay_counts{} : found->second;
}

void journal::reset_counts() {
  all_ = {};
  each_.clear();
}

void journal::note(relay_event event) {
  if (events_.size() == most_events) events_.pop_front();
  events_.push_back(event);
}

}  // namespace idem::inline v1::conformance
