// SPDX-License-Identifier: BSL-1.0
// What memory.h offers besides the port.
#include <idem/memory.h>

#include <array>
#include <utility>

#include <idem/transaction.h>

#include "dialects/memory/session.h"

namespace idem::inline v1::memory {

namespace {

detail::memory_session* ours(session& s) noexcept {
  if (s.sql().name != dialect_value().name) return nullptr;
  return static_cast<detail::memory_session*>(s.native_handle());
}

std::unexpected<error> not_ours() {
  return detail::refuse(errc::unsupported, "the session is not one of the in-memory engine");
}

// The answer without its rows.
result<> done(result<rows> answered) {
  if (!answered) return std::unexpected(std::move(answered).error());
  return {};
}

result<rows> query(session& s, std::string_view text, std::string_view name) {
  parameter const named = name;
  statement const one{text, std::span(&named, 1)};
  auto answered = s.execute(std::span(&one, 1), {});
  if (!answered) return std::unexpected(std::move(answered).error());
  return std::move(answered->front());
}

result<std::vector<std::string>> as_texts(result<rows> answered) {
  if (!answered) return std::unexpected(std::move(answered).error());
  std::vector<std::string> texts;
  for (auto const& row : answered->values) texts.push_back(as_text(row.front()));
  return texts;
}

result<std::int64_t> as_number(result<rows> answered) {
  if (!answered) return std::unexpected(std::move(answered).error());
  // A session that wraps one of ours may answer with nothing.
  auto const* number =
      answered->empty() ? nullptr : std::get_if<std::int64_t>(&(*answered)[0].front());
  if (number != nullptr) return *number;
  error e;
  e.phase = phase::effect;
  e.message = "the in-memory engine was answered for by another";
  return std::unexpected(std::move(e));
}

}  // namespace

std::unique_ptr<session> connect(std::shared_ptr<database> const& db) {
  return std::make_unique<detail::memory_session>(db->engine_);
}

std::unique_ptr<session_pool> pool(std::shared_ptr<database> const& db, std::size_t max_sessions) {
  auto make = [db](call_limits const&) -> result<std::unique_ptr<session>> { return connect(db); };
  return std::make_unique<session_pool>(std::move(make), max_sessions);
}

result<> append(transaction& tx, std::string_view table, std::string_view row) {
  return done(tx.execute("APPEND", {table, row}));
}

result<> insert(transaction& tx, std::string_view table, std::string_view row) {
  return done(tx.execute("INSERT", {table, row}));
}

result<std::int64_t> add(transaction& tx, std::string_view counter, std::int64_t amount) {
  return as_number(tx.execute("ADD", {counter, amount}));
}

result<std::vector<std::string>> rows_of(transaction& tx, std::string_view table) {
  return as_texts(tx.execute("ROWS", {table}));
}

result<std::vector<std::string>> rows_of(session& s, std::string_view table) {
  return as_texts(query(s, "ROWS", table));
}

result<std::int64_t> counter_of(session& s, std::string_view counter) {
  return as_number(query(s, "COUNTER", counter));
}

std::uint64_t session_id(session& s) noexcept {
  auto const* const real = ours(s);
  return real == nullptr ? 0 : real->id();
}

bool waiting(session& s) noexcept {
  auto* const real = ours(s);
  return real != nullptr && real->waiting();
}

std::uint64_t transaction_serial(session& s) noexcept {
  auto* const real = ours(s);
  return real == nullptr ? 0 : real->transaction_serial();
}

result<> set_wait_limit(session& s, std::chrono::milliseconds limit) {
  auto* const real = ours(s);
  if (real == nullptr) return not_ours();
  real->set_wait_limit(limit);
  return {};
}

std::optional<std::chrono::milliseconds> wait_limit(session& s) noexcept {
  auto* const real = ours(s);
  if (real == nullptr) return std::nullopt;
  return real->wait_limit();
}

result<> disconnect(session& s) {
  auto* const real = ours(s);
  if (real == nullptr) return not_ours();
  real->disconnect();
  return {};
}

result<> fail_next_commit(session& s, commit_fault fault) {
  auto* const real = ours(s);
  if (real == nullptr) return not_ours();
  real->fail_next_commit(fault);
  return {};
}

result<> abort_transaction(transaction& tx) { return done(tx.execute("ABORT")); }

}  // namespace idem::inline v1::memory
