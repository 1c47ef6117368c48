// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Random JSON values, pairs of them and their spellings. Shares no code with the canonical form:
// texts are written from values, and never read.
namespace idem_test::json {

using std::size_t;

enum class kind : std::uint8_t { null, boolean, number, string, array, object };

/// A JSON value. A number is ±digits × 10^exponent, not normalised.
struct value {
  kind type = kind::null;
  bool truth = false;  // of a boolean; of a number: negative
  std::string digits;
  int exponent = 0;
  std::u32string text;
  std::vector<std::u32string> names;  // of an object's items
  std::vector<value> items;
};

inline value container(kind type, std::vector<std::u32string> names, std::vector<value> items) {
  value v;
  v.type = type;
  v.names = std::move(names);
  v.items = std::move(items);
  return v;
}

/// Whole digits at a common exponent, without leading zeros.
inline std::string scaled(value const& number, int common_exponent) {
  auto const zeros = static_cast<size_t>(number.exponent - common_exponent);
  auto const whole = number.digits + std::string(zeros, '0');
  return whole.substr(std::min(whole.find_first_not_of('0'), whole.size()));
}

inline bool same_number(value const& a, value const& b) {
  int const common = std::min(a.exponent, b.exponent);
  auto const left = scaled(a, common);
  return left == scaled(b, common) && (left.empty() || a.truth == b.truth);
}

inline bool same(value const& a, value const& b);

inline bool same_members(value const& a, value const& b) {
  if (a.names.size() != b.names.size()) return false;
  for (size_t i = 0; i < a.names.size(); ++i) {
    auto const found = std::ranges::find(b.names, a.names[i]);
    if (found == b.names.end()) return false;
    auto const at = static_cast<size_t>(found - b.names.begin());
    if (!same(a.items[i], b.items[at])) return false;
  }
  return true;
}

inline bool same(value const& a, value const& b) {
  if (a.type != b.type) return false;
  if (a.type == kind::number) return same_number(a, b);
  if (a.type == kind::object) return same_members(a, b);
  return a.text == b.text && (a.type != kind::boolean || a.truth == b.truth) &&
         std::ranges::equal(a.items, b.items, same);
}

/// Random values, changes to them and spellings of them.
class generator {
 public:
  explicit generator(std::uint64_t seed) : engine_(seed) {}

  size_t below(size_t bound) { return engine_() % bound; }
  bool one_in(size_t n) { return below(n) == 0; }

  value make(size_t depth) {
    value v;
    v.type = static_cast<kind>(below(depth == 0 ? 4 : 6));
    v.truth = one_in(2);
    if (v.type == kind::number) make_number(v);
    if (v.type == kind::string) v.text = make_text(5);
    if (v.type == kind::array || v.type == kind::object) {
      for (size_t i = below(5); i > 0; --i) add_item(v, make(depth - 1));
    }
    return v;
  }

  /// Changes one place; the value may stay the same (two equal elements swapped).
  void change(value& v) {
    bool const inner = !v.items.empty() && !one_in(3);
    if (inner) return change(v.items[below(v.items.size())]);
    switch (v.type) {
      case kind::number:
        return change_number(v);
      case kind::string:
        return change_text(v.text);
      case kind::boolean:
        v.truth = !v.truth;
        return;
      case kind::array:
      case kind::object:
        return change_items(v);
      default:
        v = make(0);
    }
  }

  /// The same value with the members of its objects in another order.
  void shuffle(value& v) {
    for (auto& item : v.items) shuffle(item);
    if (v.type != kind::object) return;
    for (size_t i = v.items.size(); i > 1; --i) {
      size_t const other = below(i);
      std::swap(v.items[i - 1], v.items[other]);
      std::swap(v.names[i - 1], v.names[other]);
    }
  }

  std::string spell(value const& v) {
    std::string out = space();
    switch (v.type) {
      case kind::null:
        out += "null";
        break;
      case kind::boolean:
        out += v.truth ? "true" : "false";
        break;
      case kind::number:
        out += spell_number(v);
        break;
      case kind::string:
        out += spell_text(v.text);
        break;
      default:
        out += spell_items(v);
    }
    return out + space();
  }

 private:
  void make_number(value& v) {
    size_t const size = one_in(4) ? 1 + below(30) : 1 + below(3);
    for (size_t i = 0; i < size; ++i)
      v.digits += static_cast<char>('0' + below(one_in(2) ? 2 : 10));
    v.exponent = static_cast<int>(below(one_in(4) ? 800 : 12)) - (one_in(4) ? 400 : 6);
  }

  // Borders of UTF-8 and UTF-16, what must be escaped, and what may be.
  char32_t make_character() {
    constexpr std::u32string_view known =
        U"ab\"\\/\b\f\n\r\t\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\u00e9";
    size_t const at = below(known.size() + 2);
    if (at < known.size()) return known[at];
    return static_cast<char32_t>(below(0x20));
  }

  std::u32string make_text(size_t bound) {
    std::u32string text;
    for (size_t i = below(bound); i > 0; --i) text += make_character();
    return text;
  }

  void add_item(value& v, value item) {
    if (v.type == kind::object) {
      auto name = make_text(3);
      while (std::ranges::find(v.names, name) != v.names.end()) name += make_character();
      v.names.push_back(std::move(name));
    }
    v.items.push_back(std::move(item));
  }

  void change_number(value& v) {
    switch (below(4)) {
      case 0:
        v.truth = !v.truth;
        return;
      case 1:
        v.exponent += one_in(2) ? 1 : -1;
        return;
      case 2:
        v.digits += one_in(2) ? '0' : '1';  // times ten, or that and one
        --v.exponent;
        return;
      default:
        v.digits[below(v.digits.size())] = static_cast<char>('0' + below(10));
    }
  }

  void change_text(std::u32string& text) {
    if (text.empty() || one_in(3)) {
      text += make_character();
    } else if (one_in(2)) {
      text.pop_back();
    } else {
      text[below(text.size())] = make_character();
    }
  }

  void change_items(value& v) {
    if (v.items.empty() || one_in(3)) return add_item(v, make(0));
    size_t const at = below(v.items.size());
    if (one_in(2)) {
      std::swap(v.items[at], v.items.back());  // of an object: its names stay, the values move
    } else if (v.type == kind::object && one_in(2)) {
      auto name = v.names[at];
      change_text(name);
      if (std::ranges::find(v.names, name) == v.names.end()) v.names[at] = name;
    } else {
      if (v.type == kind::object) v.names.erase(v.names.begin() + static_cast<std::ptrdiff_t>(at));
      v.items.erase(v.items.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  std::string space() {
    std::string out;
    while (one_in(4)) out += " \t\n\r"[below(4)];
    return out;
  }

  /// Trailing zeros, the decimal point anywhere, an exponent that makes up for both.
  std::string spell_number(value const& v) {
    auto digits = v.digits.substr(std::min(v.digits.find_first_not_of('0'), v.digits.size() - 1));
    size_t const zeros = one_in(3) ? below(4) : 0;
    digits.append(zeros, '0');
    int const shift = v.exponent - static_cast<int>(zeros);
    int const size = static_cast<int>(digits.size());
    int point = static_cast<int>(below(digits.size() + 4)) - 3;
    if (one_in(2) && shift <= 0 && shift > -20) point = size + shift;  // no exponent needed
    auto out = (v.truth ? "-" : "") + place_point(digits, point);
    int const exponent = shift + size - point;
    if (exponent != 0 || one_in(4)) out += spell_exponent(exponent);
    return out;
  }

  static std::string place_point(std::string const& digits, int point) {
    if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits;
    auto const at = static_cast<size_t>(point);
    if (digits[0] == '0' && at > 1) return "0." + digits.substr(1) + "0";  // a zero: any will do
    return at == digits.size() ? digits : digits.substr(0, at) + "." + digits.substr(at);
  }

  std::string spell_exponent(int exponent) {
    std::string out = one_in(2) ? "e" : "E";
    out += exponent < 0 ? "-" : one_in(2) ? "+" : "";
    return out + std::string(one_in(4) ? below(3) : 0, '0') + std::to_string(std::abs(exponent));
  }

  std::string spell_unit(char32_t unit) {
    std::string_view const hex = one_in(2) ? "0123456789abcdef" : "0123456789ABCDEF";
    std::string out = "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += hex[(unit >> shift) & 0xF];
    return out;
  }

  static std::string raw(char32_t c) {
    auto const tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
    if (c < 0x80) return {static_cast<char>(c)};
    if (c < 0x800) return {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
    if (c < 0x10000) return {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
    return {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
  }

  std::string spell_character(char32_t c) {
    constexpr std::string_view plain = "\"\\/\b\f\n\r\t";
    auto const known = c < 0x80 ? plain.find(static_cast<char>(c)) : plain.npos;
    if (known != plain.npos && one_in(2)) return {'\\', "\"\\/bfnrt"[known]};
    bool const may_be_raw = c >= 0x20 && c != U'"' && c != U'\\';
    if (may_be_raw && !one_in(3)) return raw(c);
    if (c < 0x10000) return spell_unit(c);
    return spell_unit(0xD800 + ((c - 0x10000) >> 10)) +
           spell_unit(0xDC00 + ((c - 0x10000) & 0x3FF));
  }

  std::string spell_text(std::u32string const& text) {
    std::string out = "\"";
    for (char32_t const c : text) out += spell_character(c);
    return out + '"';
  }

  std::string spell_items(value const& v) {
    bool const object = v.type == kind::object;
    std::string out = (object ? "{" : "[") + space();
    for (size_t i = 0; i < v.items.size(); ++i) {
      if (i != 0) out += ',';
      if (object) out += space() + spell_text(v.names[i]) + space() + ':';
      out += spell(v.items[i]);
    }
    return out + (object ? '}' : ']');
  }

  std::mt19937_64 engine_;
};

/// IDEM_TEST_SEED repeats a run.
inline std::uint64_t seed() {
  char const* const given = std::getenv("IDEM_TEST_SEED");
  return given == nullptr ? 8785 : std::strtoull(given, nullptr, 10);
}

inline value partner_of(value const& first, generator& gen) {
  value second = gen.one_in(10) ? gen.make(2) : first;
  if (gen.one_in(2)) gen.change(second);
  gen.shuffle(second);
  return second;
}

}  // namespace idem_test::json
