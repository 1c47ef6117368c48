// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string_view>

namespace idem::inline v1::detail {

/// RapidJSON's input stream over a text, with each number shown to the parser as one `0`.
///
/// RapidJSON 1.1.0 refuses numbers outside a double's range even with
/// kParseNumbersAsStringsFlag, and copies their digits before the handler sees them. Here it
/// sees neither: the handler takes the number's own text from `last_number`, and checks it.
/// What the parser must refuse stays refused, as a `0` in the same place is.
class json_stream {
 public:
  using Ch = char;  // RapidJSON's names, here and below

  explicit json_stream(std::string_view text) noexcept : text_(text) {}

  Ch Peek() const noexcept { return at_number() ? '0' : current(); }

  Ch Take() noexcept {
    if (at_number()) return take_number();
    char const c = current();
    if (at_ < text_.size()) ++at_;
    follow_string(c);
    return c;
  }

  std::size_t Tell() const noexcept { return at_; }

  // Asked for by the parser's templates, called only when parsing in place.
  Ch* PutBegin() noexcept { return nullptr; }
  void Put(Ch) noexcept {}
  void Flush() noexcept {}
  std::size_t PutEnd(Ch*) noexcept { return 0; }

  /// The run of number characters taken last; not yet known to be a number.
  std::string_view last_number() const noexcept { return number_; }

 private:
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  char current() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool at_number() const noexcept {
    return !in_string_ && (is_digit(current()) || current() == '-');
  }

  Ch take_number() noexcept {
    auto const end = text_.find_first_not_of("0123456789+-.eE", at_);
    number_ = text_.substr(at_, end == text_.npos ? end : end - at_);
    at_ += number_.size();
    return '0';
  }

  void follow_string(char c) noexcept {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '"') {
      in_string_ = !in_string_;
    } else {
      escaped_ = in_string_ && c == '\\';
    }
  }

  std::string_view text_;
  std::string_view number_;
  std::size_t at_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace idem::inline v1::detail
