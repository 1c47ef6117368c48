// SPDX-License-Identifier: BSL-1.0
#include "dialects/postgresql/placeholders.h"

namespace idem::inline v1::postgresql::detail {

namespace {

constexpr bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The reader of one statement: every member takes it past one token.
class scanner {
 public:
  explicit scanner(std::string_view sql) : sql_(sql) {}

  bool done() const { return at_ >= sql_.size(); }
  std::size_t position() const { return at_; }
  bool starts(std::string_view what) const { return sql_.substr(at_).starts_with(what); }
  void skip(std::size_t count) { at_ += count; }

  // Past one token that may hold a question mark; false at anything else.
  bool skip_opaque() {
    if (starts("--")) return skip_line();
    if (starts("/*")) return skip_comment();
    if (starts("\"")) return skip_quoted('"', false);
    if (starts("'")) return skip_quoted('\'', is_escape_string());
    if (starts("$")) return skip_dollar_quoted();
    return false;
  }

 private:
  bool after_name() const { return at_ > 0 && is_name_char(sql_[at_ - 1]); }

  // E'…' takes backslashes; in other literals they are plain (standard_conforming_strings).
  bool is_escape_string() const {
    if (at_ == 0 || (sql_[at_ - 1] != 'E' && sql_[at_ - 1] != 'e')) return false;
    return at_ == 1 || !is_name_char(sql_[at_ - 2]);
  }

  bool skip_line() {
    auto const end = sql_.find_first_of("\r\n", at_);
    at_ = end == std::string_view::npos ? sql_.size() : end + 1;
    return true;
  }

  // Comments nest.
  bool skip_comment() {
    int depth = 0;
    do {
      if (starts("/*")) {
        ++depth;
        at_ += 2;
      } else if (starts("*/")) {
        --depth;
        at_ += 2;
      } else {
        ++at_;
      }
    } while (depth > 0 && !done());
    return true;
  }

  // A doubled quotation mark ends one token and begins another: no difference here.
  bool skip_quoted(char mark, bool backslashes) {
    for (++at_; !done(); ++at_) {
      if (backslashes && sql_[at_] == '\\') {
        ++at_;
        continue;
      }
      if (sql_[at_] == mark) break;
    }
    if (!done()) ++at_;
    return true;
  }

  // $tag$ … $tag$; not $1, and not inside a name.
  bool skip_dollar_quoted() {
    if (after_name()) return false;
    auto end = at_ + 1;
    while (end < sql_.size() && is_name_char(sql_[end])) ++end;
    bool const digit_first = sql_.substr(at_ + 1, 1).find_first_of("0123456789") == 0;
    if (end >= sql_.size() || sql_[end] != '$' || digit_first) return false;
    auto const tag = sql_.substr(at_, end + 1 - at_);
    auto const close = sql_.find(tag, end + 1);
    at_ = close == std::string_view::npos ? sql_.size() : close + tag.size();
    return true;
  }

  std::string_view sql_;
  std::size_t at_ = 0;
};

}  // namespace

numbered_statement number_placeholders(std::string_view sql) {
  numbered_statement out;
  out.sql.reserve(sql.size() + 16);
  scanner scan(sql);
  while (!scan.done()) {
    auto const from = scan.position();
    if (scan.skip_opaque()) {
      out.sql.append(sql.substr(from, scan.position() - from));
    } else if (scan.starts("??")) {
      out.sql += '?';
      scan.skip(2);
    } else if (scan.starts("?")) {
      out.sql.append("$").append(std::to_string(++out.placeholders));
      scan.skip(1);
    } else {
      out.sql += sql[from];
      scan.skip(1);
    }
  }
  return out;
}

std::string first_word(std::string_view sql) {
  scanner scan(sql);
  while (!scan.done()) {
    bool const comment = scan.starts("--") || scan.starts("/*");
    if (comment)
      scan.skip_opaque();
    else if (std::string_view(" \t\r\n\f\v;").contains(sql[scan.position()]))
      scan.skip(1);
    else
      break;
  }
  std::string word;
  for (; !scan.done() && is_name_char(sql[scan.position()]); scan.skip(1)) {
    char const c = sql[scan.position()];
    word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return word;
}

}  // namespace idem::inline v1::postgresql::detail
