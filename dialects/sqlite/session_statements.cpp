// SPDX-License-Identifier: BSL-1.0
// Preparing, binding and reading.
#include "dialects/sqlite/session_statements.h"

#include <sqlite3.h>

#include <climits>
#include <utility>
#include <variant>

#include "dialects/sqlite/errors.h"
#include "dialects/sqlite/session_errors.h"

namespace idem::inline v1::sqlite::detail {

error last_error(sqlite3* db) {
  error e;
  // Extended also where the handle does not have extended result codes turned on.
  e.native.code = sqlite3_extended_errcode(db);
  e.native.message = sqlite3_errmsg(db);
  auto const means = classify(e.native);
  e.what = means.what;
  e.advice = means.advice;
  e.message = "SQLite answered " + std::string(code_name(e.native.code));
  return e;
}

error refusal_of(errc what, std::string message) {
  error e;
  e.what = what;
  e.message = std::move(message);
  return e;
}

namespace {

// What SQLite's own tokenizer skips. https://sqlite.org/lang_comment.html
bool is_blank(std::string_view text) {
  while (!text.empty()) {
    if (std::string_view(" \t\n\f\r;").contains(text.front())) {
      text.remove_prefix(1);
      continue;
    }
    bool const line = text.starts_with("--");
    if (!line && !text.starts_with("/*")) return false;
    auto const end = line ? text.find('\n') : text.find("*/", 2);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + (line ? 1 : 2));
  }
  return true;
}

constexpr int primary(int code) { return code & 0xff; }

int prepare_once(sqlite3* db, std::string const& text, sqlite3_stmt** out, char const** tail) {
  return sqlite3_prepare_v3(db, text.c_str(), static_cast<int>(text.size()) + 1,
                            SQLITE_PREPARE_PERSISTENT, out, tail);
}

// A handle keeps the schema as it last read it. If a name is not in it, SQLite looks whether the
// schema has changed; but if the file is locked just then, it says "no such table" with
// SQLITE_ERROR instead of SQLITE_BUSY (schemaIsValid in src/prepare.c; seen with 3.40). So such
// an answer is believed only under a read lock, which an unfinished statement holds.
result<> prepare_surely(sqlite3* db, std::string const& text, sqlite3_stmt** out,
                        char const** tail) {
  int rc = prepare_once(db, text, out, tail);
  if (rc == SQLITE_OK) return {};
  if (primary(rc) != SQLITE_ERROR) return std::unexpected(last_error(db));
  sqlite3_stmt* lock = nullptr;
  rc = sqlite3_prepare_v2(db, "PRAGMA main.schema_version", -1, &lock, nullptr);
  if (rc == SQLITE_OK) rc = sqlite3_step(lock);
  if (rc == SQLITE_ROW) rc = prepare_once(db, text, out, tail);
  result<> answer;
  if (rc != SQLITE_OK) answer = std::unexpected(last_error(db));
  sqlite3_finalize(lock);
  return answer;
}

class reset_at_exit {
 public:
  explicit reset_at_exit(sqlite3_stmt* s) : statement_(s) {}
  reset_at_exit(reset_at_exit const&) = delete;
  reset_at_exit& operator=(reset_at_exit const&) = delete;
  // A statement that is not reset keeps its locks; bound views may not outlive the call.
  ~reset_at_exit() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

 private:
  sqlite3_stmt* statement_;
};

struct binder {
  sqlite3_stmt* statement;
  int place;

  int operator()(std::monostate) const { return sqlite3_bind_null(statement, place); }
  int operator()(std::int64_t v) const { return sqlite3_bind_int64(statement, place, v); }
  int operator()(double v) const { return sqlite3_bind_double(statement, place, v); }
  // A null pointer would bind NULL. https://sqlite.org/c3ref/bind_blob.html
  int operator()(std::string_view v) const {
    char const* text = v.empty() ? "" : v.data();
    return sqlite3_bind_text64(statement, place, text, v.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  int operator()(blob_view v) const {
    if (v.bytes.empty()) return sqlite3_bind_zeroblob(statement, place, 0);
    return sqlite3_bind_blob64(statement, place, v.bytes.data(), v.bytes.size(), SQLITE_STATIC);
  }
};

result<> bind_all(sqlite3* db, sqlite3_stmt* s, std::span<parameter const> parameters) {
  auto const wanted = static_cast<std::size_t>(sqlite3_bind_parameter_count(s));
  if (wanted != parameters.size())
    return invalid_argument("the statement has " + std::to_string(wanted) +
                            " parameters, the call brings " + std::to_string(parameters.size()));
  int place = 0;
  for (auto const& p : parameters)
    if (std::visit(binder{s, ++place}, p.get()) != SQLITE_OK)
      return std::unexpected(last_error(db));
  return {};
}

std::string bytes_of(void const* data, int size) {
  return size == 0 ? std::string()
                   : std::string(static_cast<char const*>(data), static_cast<std::size_t>(size));
}

// The text is asked for before its size: that is when SQLite converts it.
// https://sqlite.org/c3ref/column_blob.html
value read_column(sqlite3_stmt* s, int column) {
  switch (sqlite3_column_type(s, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(s, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(s, column);
    case SQLITE_TEXT: {
      auto const* text = sqlite3_column_text(s, column);
      return bytes_of(text, sqlite3_column_bytes(s, column));
    }
    case SQLITE_BLOB: {
      auto const* bytes = sqlite3_column_blob(s, column);
      return blob{bytes_of(bytes, sqlite3_column_bytes(s, column))};
    }
    default:
      return std::monostate{};
  }
}

std::vector<value> read_row(sqlite3_stmt* s) {
  std::vector<value> row;
  int const columns = sqlite3_column_count(s);
  row.reserve(static_cast<std::size_t>(columns));
  for (int i = 0; i < columns; ++i) row.push_back(read_column(s, i));
  return row;
}

}  // namespace

result<sqlite3_stmt*> statement_cache::prepare(std::string_view text) {
  if (auto const known = by_text_.find(text); known != by_text_.end()) {
    recent_.splice(recent_.begin(), recent_, known->second);
    return known->second->prepared;
  }
  if (text.size() >= INT_MAX) return invalid_argument("the statement is 2 GiB or longer");
  std::list<entry> fresh;
  auto& made = fresh.emplace_back(entry{std::string(text), nullptr});
  char const* tail = nullptr;
  auto const made_it = prepare_surely(db_, made.text, &made.prepared, &tail);
  if (!made_it) return std::unexpected(made_it.error());
  auto const used = static_cast<std::size_t>(tail - made.text.c_str());
  if (!is_blank(std::string_view(made.text).substr(used))) {
    sqlite3_finalize(made.prepared);
    return invalid_argument("the text holds more than one statement: send them one by one");
  }
  if (recent_.size() == max_statements) {
    sqlite3_finalize(recent_.back().prepared);
    by_text_.erase(recent_.back().text);
    recent_.pop_back();
  }
  recent_.splice(recent_.begin(), fresh);
  by_text_.emplace(recent_.front().text, recent_.begin());
  return recent_.front().prepared;
}

void statement_cache::clear() noexcept {
  for (auto const& e : recent_) sqlite3_finalize(e.prepared);
  by_text_.clear();
  recent_.clear();
}

result<rows> run_statement(sqlite3* db, statement_cache& cache, statement const& asked) {
  auto prepared = cache.prepare(asked.sql);
  if (!prepared) return std::unexpected(std::move(prepared).error());
  rows out;
  if (*prepared == nullptr) return out;
  reset_at_exit const reset(*prepared);
  if (auto bound = bind_all(db, *prepared, asked.parameters); !bound)
    return std::unexpected(std::move(bound).error());
  // Statements other than INSERT, UPDATE and DELETE leave the count of the last one standing.
  // https://sqlite.org/c3ref/changes.html
  auto const before = sqlite3_total_changes64(db);
  int rc = sqlite3_step(*prepared);
  for (; rc == SQLITE_ROW; rc = sqlite3_step(*prepared)) {
    out.values.push_back(read_row(*prepared));
    // A text that could not be converted reads as none. https://sqlite.org/c3ref/column_blob.html
    if (sqlite3_errcode(db) == SQLITE_NOMEM) return std::unexpected(last_error(db));
  }
  if (rc != SQLITE_DONE) return std::unexpected(last_error(db));
  if (sqlite3_total_changes64(db) != before) out.affected = sqlite3_changes64(db);
  return out;
}

}  // namespace idem::inline v1::sqlite::detail
