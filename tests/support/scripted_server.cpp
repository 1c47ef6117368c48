// SPDX-License-Identifier: BSL-1.0
#include "tests/support/scripted_server.h"

#include <algorithm>

namespace idem_test {

std::optional<scripted_server::transaction_id> scripted_server::begin() {
  if (flavour_.lock_at_begin) {
    std::vector<transaction_id> others;
    for (auto const& [id, open] : open_) others.push_back(id);
    bool const all_ended = std::ranges::all_of(others, [this](auto id) { return wait_out(id); });
    if (!all_ended) return std::nullopt;
  }
  open_[next_];
  return next_++;
}

bool scripted_server::is_open(transaction_id id) const { return open_.contains(id); }

bool scripted_server::was_killed(transaction_id id) const {
  auto const at = open_.find(id);
  return at != open_.end() && at->second.killed;
}

// True if the holder has ended, whichever way.
bool scripted_server::wait_out(transaction_id holder) {
  auto const at = open_.find(holder);
  if (at == open_.end()) return true;
  if (!at->second.abandoned) return false;  // its owner is not running meanwhile
  if (at->second.when_waited == waited_for::holds) return false;
  if (at->second.when_waited == waited_for::lands && at->second.commit_sent)
    commit(holder);
  else
    open_.erase(holder);
  return true;
}

std::optional<stored> scripted_server::see(open_transaction const* own, key const& k) const {
  if (own != nullptr) {
    auto const written = own->own.records.find(k);
    if (written != own->own.records.end()) return written->second;
  }
  auto const at = records.find(k);
  return at == records.end() ? std::nullopt : std::optional(at->second);
}

scripted_server::claimed scripted_server::claim(transaction_id id, key const& k, stored row) {
  std::vector<transaction_id> holders;
  for (auto const& [other, open] : open_) {
    // On a cluster an abandoned transaction sits on another node: nothing here waits for it.
    bool const elsewhere = open.abandoned && !flavour_.facts.claim_proves_absence;
    if (other != id && open.locks.contains(k) && !elsewhere) holders.push_back(other);
  }
  bool const ended = std::ranges::all_of(holders, [this](auto h) { return wait_out(h); });
  if (!ended) return claimed::timed_out;
  auto& mine = open_.at(id);
  if (mine.killed) return claimed::killed;  // while it waited
  if (see(&mine, k)) return claimed::taken;
  row.written_by = id;
  row.created_at = ++clock_us;
  mine.locks.insert(k);
  mine.own.records[k] = std::move(row);
  return claimed::inserted;
}

std::optional<stored> scripted_server::find(std::optional<transaction_id> id, key const& k) const {
  auto const at = id ? open_.find(*id) : open_.end();
  bool const mine = at != open_.end() && at->second.own.records.contains(k);
  if (records_hidden && !mine) return std::nullopt;
  return see(at == open_.end() ? nullptr : &at->second, k);
}

bool scripted_server::save(transaction_id id, key const& k, stored const& response) {
  auto& mine = open_.at(id);
  auto row = see(&mine, k);
  if (!row || row->attempt != response.attempt || row->state != 0) return false;
  bool const witnessed = flavour_.facts.witness == idem::transaction_witness::save;
  if (witnessed && row->written_by != id) return false;
  row->state = response.state;
  row->status = response.status;
  row->headers = response.headers;
  row->body = response.body;
  row->has_body = response.has_body;
  row->completed_at = ++clock_us;
  row->expires_at = clock_us + response.expires_at.value_or(0);
  mine.locks.insert(k);
  mine.own.records[k] = std::move(row);
  return true;
}

bool scripted_server::discard(std::optional<transaction_id> id, key const& k,
                              std::string const& attempt) {
  auto const at = id ? open_.find(*id) : open_.end();
  auto* mine = at == open_.end() ? nullptr : &at->second;
  auto const row = see(mine, k);
  if (!row || row->attempt != attempt || row->state != 0) return false;
  if (mine == nullptr) return records.erase(k) == 1;
  mine->locks.insert(k);
  mine->own.records[k] = std::nullopt;
  return true;
}

void scripted_server::write_effect(std::optional<transaction_id> id, std::string const& what) {
  if (id)
    open_.at(*id).own.effects.push_back(what);
  else
    effects.push_back(what);
}

void scripted_server::mark(transaction_id id, std::string const& savepoint) {
  auto& mine = open_.at(id);
  auto const same = [&](auto const& s) { return s.first == savepoint; };
  if (flavour_.savepoint_names_move && std::erase_if(mine.savepoints, same) > 0) ++savepoints_moved;
  mine.savepoints.emplace_back(savepoint, mine.own);
}

std::vector<std::pair<std::string, scripted_server::writes>>::iterator
scripted_server::savepoint_of(place at, std::string const& savepoint) {
  auto& all = at->second.savepoints;
  auto const last =
      std::find_if(all.rbegin(), all.rend(), [&](auto const& s) { return s.first == savepoint; });
  return last == all.rend() ? all.end() : std::prev(last.base());
}

bool scripted_server::back_to(transaction_id id, std::string const& savepoint) {
  auto const at = open_.find(id);
  auto const marked = savepoint_of(at, savepoint);
  if (marked == at->second.savepoints.end()) return false;
  at->second.own = marked->second;
  at->second.savepoints.erase(std::next(marked), at->second.savepoints.end());
  return true;
}

bool scripted_server::release(transaction_id id, std::string const& savepoint) {
  auto const at = open_.find(id);
  auto const marked = savepoint_of(at, savepoint);
  if (marked == at->second.savepoints.end()) return false;
  at->second.savepoints.erase(marked, at->second.savepoints.end());
  return true;
}

bool scripted_server::commit(transaction_id id) {
  auto const at = open_.find(id);
  if (at == open_.end()) return false;
  auto const mine = std::move(at->second);
  open_.erase(at);
  if (mine.killed) return false;
  for (auto const& [k, row] : mine.own.records) {
    if (row)
      records[k] = *row;
    else
      records.erase(k);
  }
  effects.insert(effects.end(), mine.own.effects.begin(), mine.own.effects.end());
  for (auto& [other, open] : open_) {
    bool const conflicts =
        std::ranges::any_of(open.locks, [&](key const& k) { return mine.locks.contains(k); });
    if (conflicts) open.killed = true;
  }
  return true;
}

void scripted_server::rollback(transaction_id id) { open_.erase(id); }

void scripted_server::commit_later(transaction_id id, std::optional<int> step, waited_for how) {
  auto& mine = open_.at(id);
  mine.abandoned = true;
  mine.commit_sent = true;
  mine.arrives_at = step;
  mine.when_waited = how;
}

void scripted_server::linger(transaction_id id, waited_for how) {
  auto const at = open_.find(id);
  if (at == open_.end()) return;
  at->second.abandoned = true;
  at->second.when_waited = how;
}

void scripted_server::land(transaction_id id) {
  if (open_.at(id).commit_sent)
    commit(id);
  else
    open_.erase(id);
}

void scripted_server::arrive(int step) {
  std::vector<transaction_id> due;
  for (auto const& [id, open] : open_)
    if (open.abandoned && open.arrives_at && *open.arrives_at <= step) due.push_back(id);
  for (auto id : due) land(id);
}

void scripted_server::settle_down() {
  std::vector<transaction_id> abandoned;
  for (auto const& [id, open] : open_)
    if (open.abandoned) abandoned.push_back(id);
  for (auto id : abandoned) land(id);
}

bool scripted_server::commit_on_the_way() const {
  return std::ranges::any_of(open_, [](auto const& entry) {
    return entry.second.abandoned && entry.second.commit_sent && !entry.second.killed;
  });
}

}  // namespace idem_test
