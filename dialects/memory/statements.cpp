// SPDX-License-Identifier: BSL-1.0
// The engine's closed language: a word, for some a name, and bound parameters.
#include "dialects/memory/statements.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <ranges>
#include <utility>

#include <idem/memory.h>
#include <idem/record.h>

#include "dialects/memory/errors.h"

namespace idem::inline v1::memory::detail {

namespace {

struct call {
  place const& at;
  std::string_view name;
  std::span<parameter const> given;

  std::string text(std::size_t i) const;
  std::int64_t integer(std::size_t i) const { return std::get<std::int64_t>(given[i].get()); }
  value bytes_or_null(std::size_t i) const;
  /// Table and identity; the identity's three parameters begin at `first`.
  row_key key(std::size_t first) const;
  result<bool> lock(row_key const& key) const {
    return at.db.lock_row(at.lock, at.tx, key, at.patience);
  }
};

std::string call::text(std::size_t i) const {
  auto const& v = given[i].get();
  if (auto const* bytes = std::get_if<blob_view>(&v)) return std::string(bytes->bytes);
  return std::string(std::get<std::string_view>(v));
}

value call::bytes_or_null(std::size_t i) const {
  if (std::holds_alternative<std::monostate>(given[i].get())) return {};
  return blob{text(i)};
}

row_key call::key(std::size_t first) const {
  return {std::string(name), text(first), text(first + 1), text(first + 2)};
}

rows changed(std::int64_t count) {
  rows answer;
  answer.affected = count;
  return answer;
}

rows one_value(value v) {
  rows answer;
  answer.values.emplace_back().push_back(std::move(v));
  return answer;
}

value& column(record_row& row, record_column c) { return row[static_cast<std::size_t>(c)]; }

constexpr std::size_t record_columns = static_cast<std::size_t>(record_column::expires_at_us) + 1;

// The records.

record_row claimed_row(call const& c) {
  using enum record_column;
  record_row row(record_columns);
  column(row, attempt) = blob{c.text(3)};
  column(row, fingerprint_version) = c.integer(4);
  column(row, fingerprint) = blob{c.text(5)};
  column(row, canonical_request) = c.bytes_or_null(6);
  column(row, state) = std::int64_t{std::to_underlying(record_state::claimed)};
  column(row, status) = std::int64_t{0};
  column(row, has_body) = std::int64_t{0};
  column(row, created_at_us) = c.integer(7);
  return row;
}

// The lock on a key that is taken is given up: a replay holds nothing.
result<rows> claim(call const& c) {
  auto const key = c.key(0);
  auto const fresh = c.lock(key);
  if (!fresh) return std::unexpected(fresh.error());
  if (c.at.db.is_hidden(key) || c.at.db.record(&c.at.tx, key)) {
    if (*fresh) c.at.db.unlock_last(c.at.tx);
    return changed(0);
  }
  c.at.tx.changes.push_back(record_written{key, claimed_row(c)});
  return changed(1);
}

result<rows> find(call const& c) {
  rows answer;
  if (auto found = c.at.db.record(&c.at.tx, c.key(0))) answer.values.push_back(std::move(*found));
  return answer;
}

// The claim of that attempt, locked, if it has no response yet.
result<std::optional<record_row>> own_claim(call const& c, row_key const& key,
                                            std::string const& attempt) {
  auto const locked = c.lock(key);
  if (!locked) return std::unexpected(locked.error());
  auto found = c.at.db.record(&c.at.tx, key);
  if (!found) return found;
  auto const claimed = std::int64_t{std::to_underlying(record_state::claimed)};
  bool const ours = column(*found, record_column::attempt) == value(blob{attempt}) &&
                    column(*found, record_column::state) == value(claimed);
  if (!ours) found.reset();
  return found;
}

result<rows> save(call const& c) {
  using enum record_column;
  auto const key = c.key(6);
  auto found = own_claim(c, key, c.text(9));
  if (!found) return std::unexpected(std::move(found).error());
  if (!*found) return changed(0);
  auto& row = **found;
  column(row, state) = c.integer(0);
  column(row, status) = c.integer(1);
  column(row, headers) = c.bytes_or_null(2);
  column(row, body) = c.bytes_or_null(3);
  column(row, has_body) = c.integer(4);
  column(row, completed_at_us) = c.integer(10);
  column(row, expires_at_us) = c.integer(10) + c.integer(5);
  c.at.tx.changes.push_back(record_written{key, std::move(row)});
  return changed(1);
}

result<rows> discard(call const& c) {
  auto const key = c.key(0);
  auto const found = own_claim(c, key, c.text(3));
  if (!found) return std::unexpected(found.error());
  if (!*found) return changed(0);
  c.at.tx.changes.push_back(record_written{key, std::nullopt});
  return changed(1);
}

result<rows> delete_record(call const& c) {
  auto const key = c.key(0);
  auto const locked = c.lock(key);
  if (!locked) return std::unexpected(locked.error());
  if (!c.at.db.record(&c.at.tx, key)) return changed(0);
  c.at.tx.changes.push_back(record_written{key, std::nullopt});
  return changed(1);
}

result<rows> hide(call const& c) {
  c.at.db.hide(c.key(0), c.integer(3) != 0);
  return changed(0);
}

// Savepoints: one hides an older of the same name.

auto newest(open_transaction& tx, std::string_view name) {
  auto const found = std::ranges::find(tx.savepoints | std::views::reverse, name,
                                       [](savepoint const& s) { return std::string_view(s.name); });
  return found.base();  // behind it; begin() if there is none
}

result<rows> make_savepoint(call const& c) {
  c.at.tx.savepoints.push_back({std::string(c.name), c.at.tx.changes.size()});
  return changed(0);
}

result<rows> rollback_to(call const& c) {
  auto& tx = c.at.tx;
  auto const behind = newest(tx, c.name);
  if (behind == tx.savepoints.begin()) return fail(code::no_savepoint);
  auto const kept = static_cast<std::ptrdiff_t>(std::prev(behind)->changes);
  tx.changes.erase(tx.changes.begin() + kept, tx.changes.end());
  tx.savepoints.erase(behind, tx.savepoints.end());
  return changed(0);
}

result<rows> release(call const& c) {
  auto& tx = c.at.tx;
  auto const behind = newest(tx, c.name);
  if (behind == tx.savepoints.begin()) return fail(code::no_savepoint);
  tx.savepoints.erase(std::prev(behind), tx.savepoints.end());
  return changed(0);
}

// The schema.

result<rows> create(call const& c) {
  auto const locked = c.lock({std::string(c.name)});
  if (!locked) return std::unexpected(locked.error());
  if (!c.at.db.version(&c.at.tx, c.name))
    c.at.tx.changes.push_back(tables_written{std::string(c.name), 0});
  return changed(0);
}

result<rows> exists(call const& c) {
  if (!c.at.db.version(&c.at.tx, c.name)) return rows{};
  return one_value(std::int64_t{1});
}

result<rows> version(call const& c) {
  auto const found = c.at.db.version(&c.at.tx, c.name).value_or(0);
  return one_value(found == 0 ? value() : value(found));
}

result<rows> record_version(call const& c) {
  auto const locked = c.lock({std::string(c.name)});
  if (!locked) return std::unexpected(locked.error());
  if (c.at.db.version(&c.at.tx, c.name).value_or(0) >= c.integer(0)) return changed(0);
  c.at.tx.changes.push_back(tables_written{std::string(c.name), c.integer(0)});
  return changed(1);
}

// Tables are made in one way only, so they always are as they must be.
result<rows> columns(call const& c) {
  rows answer;
  if (!c.at.db.version(&c.at.tx, c.name)) return answer;
  std::string const table(c.name.substr(c.name.rfind('.') + 1));
  for (auto const& column : dialect_value().schema.columns)
    answer.values.push_back({table, std::string(column.name), std::string(column.type),
                             std::int64_t{column.nullable}, column.key_position});
  return answer;
}

result<rows> breaches(call const&) { return rows{}; }

// What effects use.

result<rows> append(call const& c) {
  c.at.tx.changes.push_back(row_added{c.text(0), c.text(1)});
  return changed(1);
}

result<rows> insert(call const& c) {
  auto const locked = c.lock({"row", c.text(0), c.text(1)});
  if (!locked) return std::unexpected(locked.error());
  auto const present = c.at.db.rows_of(&c.at.tx, c.text(0));
  if (std::ranges::find(present, c.text(1)) != present.end()) return fail(code::row_exists);
  return append(c);
}

bool fits(std::int64_t a, std::int64_t b) {
  using range = std::numeric_limits<std::int64_t>;
  return b >= 0 ? a <= range::max() - b : a >= range::min() - b;
}

result<rows> add(call const& c) {
  auto const counter = c.text(0);
  auto const amount = c.integer(1);
  auto const locked = c.lock({"counter", counter});
  if (!locked) return std::unexpected(locked.error());
  auto const before = c.at.db.counter(&c.at.tx, counter);
  if (!fits(before, amount)) return fail(code::out_of_range);
  if (amount != 0) c.at.tx.changes.push_back(counter_added{counter, amount});
  auto answer = one_value(before + amount);
  answer.affected = 1;
  return answer;
}

result<rows> rows_of(call const& c) {
  rows answer;
  for (auto& row : c.at.db.rows_of(&c.at.tx, c.text(0)))
    answer.values.emplace_back().emplace_back(std::move(row));
  return answer;
}

result<rows> counter(call const& c) { return one_value(c.at.db.counter(&c.at.tx, c.text(0))); }

result<rows> abort(call const& c) {
  c.at.tx.failed = true;
  c.at.db.undo(c.at.tx);
  return fail(code::transaction_aborted_by_statement);
}

// The language.

enum class on : std::uint8_t { nothing, name, records };

struct word {
  std::string_view text;
  on what;
  bool writes;
  std::string_view parameters;  ///< b: bytes or text, n: the same or NULL, i: integer
  result<rows> (*run)(call const&);
};

constexpr word words[] = {
    {"CLAIM", on::records, true, "bbbbibni", claim},
    {"FIND", on::records, false, "bbb", find},
    {"SAVE", on::records, true, "iinniibbbbi", save},
    {"DISCARD", on::records, true, "bbbb", discard},
    {"DELETE", on::records, true, "bbb", delete_record},
    {"HIDE", on::records, false, "bbbi", hide},
    {"SAVEPOINT", on::name, false, "", make_savepoint},
    {"ROLLBACK TO", on::name, false, "", rollback_to},
    {"RELEASE", on::name, false, "", release},
    {"CREATE", on::name, true, "", create},
    {"EXISTS", on::name, false, "", exists},
    {"VERSION", on::name, false, "", version},
    {"RECORD VERSION", on::records, true, "ii", record_version},
    {"COLUMNS", on::name, false, "", columns},
    {"BREACHES", on::name, false, "", breaches},
    {"APPEND", on::nothing, true, "bb", append},
    {"INSERT", on::nothing, true, "bb", insert},
    {"ADD", on::nothing, true, "bi", add},
    {"ROWS", on::nothing, false, "b", rows_of},
    {"COUNTER", on::nothing, false, "b", counter},
    {"ABORT", on::nothing, false, "", abort},
};

constexpr std::string_view white = " \t\r\n";

// The name behind a word; nothing if the text is not of this word.
std::optional<std::string_view> name_in(std::string_view text, word const& w) {
  if (!text.starts_with(w.text)) return std::nullopt;
  text.remove_prefix(w.text.size());
  if (w.what == on::nothing) return text.empty() ? std::optional(text) : std::nullopt;
  if (text.size() < 2 || text.front() != ' ') return std::nullopt;
  text.remove_prefix(1);
  if (text.find_first_of(white) != text.npos) return std::nullopt;
  return text;
}

result<> check_parameters(std::string_view wanted, std::span<parameter const> given) {
  if (given.size() != wanted.size()) return fail(code::wrong_parameters);
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto const& v = given[i].get();
    bool const null = std::holds_alternative<std::monostate>(v);
    if (null && wanted[i] == 'n') continue;
    if (null) return fail(code::null_refused);
    bool const integer = std::holds_alternative<std::int64_t>(v);
    bool const bytes =
        std::holds_alternative<blob_view>(v) || std::holds_alternative<std::string_view>(v);
    if (wanted[i] == 'i' ? !integer : !bytes) return fail(code::wrong_parameters);
  }
  return {};
}

result<rows> run_word(place const& at, word const& w, std::string_view name,
                      std::span<parameter const> given) {
  if (auto fitting = check_parameters(w.parameters, given); !fitting)
    return std::unexpected(std::move(fitting).error());
  if (w.writes && at.tx.read_only) return fail(code::read_only);
  if (w.what == on::records && !at.db.version(&at.tx, name)) return fail(code::tables_missing);
  return w.run({at, name, given});
}

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  auto const first = text.find_first_not_of(white);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

result<rows> run_statement(place const& at, statement const& one) {
  auto const text = trimmed(one.sql);
  for (auto const& w : words) {
    if (auto const name = name_in(text, w)) return run_word(at, w, *name, one.parameters);
  }
  return fail(code::not_a_statement);
}

}  // namespace idem::inline v1::memory::detail
