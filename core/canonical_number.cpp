// SPDX-License-Identifier: BSL-1.0
#include "core/canonical_number.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/json_error.h"

namespace idem::inline v1::detail {
namespace {

constexpr std::string_view decimal_digits = "0123456789";

// Where reading an exponent stops: far beyond use, and far from overflow when positions are added.
constexpr std::int64_t exponent_ceiling = 100'000'000'000'000'000;

// ECMAScript's Number::toString writes positions in this range without an exponent.
constexpr std::int64_t max_plain_position = 21;
constexpr std::int64_t min_plain_position = -5;

/// The parts of a number as written.
struct number_text {
  bool negative = false;
  std::string_view integer;
  std::string_view fraction;
  std::int64_t exponent = 0;
};

/// 0.d1d2d3… × 10^position, where d1 is not 0.
struct decimal {
  std::string digits;
  std::int64_t position = 0;
};

bool skip(std::string_view& rest, char c) noexcept {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

std::string_view take_digits(std::string_view& rest) noexcept {
  auto const size = std::min(rest.find_first_not_of(decimal_digits), rest.size());
  auto const digits = rest.substr(0, size);
  rest.remove_prefix(size);
  return digits;
}

/// Saturates at `exponent_ceiling`.
std::int64_t exponent_value(std::string_view digits) noexcept {
  std::int64_t value = 0;
  for (char const c : digits) {
    value = std::min(value * 10 + (c - '0'), exponent_ceiling);
  }
  return value;
}

/// RFC 8259 section 6; nothing for any other text.
std::optional<number_text> split(std::string_view rest) noexcept {
  number_text number;
  number.negative = skip(rest, '-');
  number.integer = take_digits(rest);
  if (number.integer.empty()) return {};
  if (number.integer.size() > 1 && number.integer.starts_with('0')) return {};
  if (skip(rest, '.')) {
    number.fraction = take_digits(rest);
    if (number.fraction.empty()) return {};
  }
  if (skip(rest, 'e') || skip(rest, 'E')) {
    bool const minus = skip(rest, '-');
    if (!minus) skip(rest, '+');
    auto const digits = take_digits(rest);
    if (digits.empty()) return {};
    number.exponent = minus ? -exponent_value(digits) : exponent_value(digits);
  }
  if (!rest.empty()) return {};
  return number;
}

/// How many digits of the fraction are zeros before the first significant one.
std::size_t leading_zeros(number_text const& number) noexcept {
  if (number.integer != "0") return 0;
  return std::min(number.fraction.find_first_not_of('0'), number.fraction.size());
}

bool is_zero(number_text const& number) noexcept {
  return number.integer == "0" && leading_zeros(number) == number.fraction.size();
}

std::size_t written_digits(number_text const& number) noexcept {
  auto const all = number.integer.size() + number.fraction.size();
  if (is_zero(number) || number.integer != "0") return all;
  return number.fraction.size() - leading_zeros(number);
}

/// The decimal point's position before the first significant digit, exponent included.
std::int64_t position_of(number_text const& number) noexcept {
  auto const before_exponent = number.integer == "0"
                                   ? -static_cast<std::int64_t>(leading_zeros(number))
                                   : static_cast<std::int64_t>(number.integer.size());
  return before_exponent + number.exponent;
}

result<> check_exponent(std::int64_t exponent, json_limits const& limits) {
  auto const limit = std::min(limits.max_exponent, exponent_ceiling - 1);
  if (exponent <= limit && -exponent <= limit) return {};
  return over_bound("number's exponent", exponent, "max_exponent", limit);
}

result<> check_bounds(number_text const& number, json_limits const& limits) {
  if (auto const seen = written_digits(number); seen > limits.max_number_digits) {
    return over_bound("number's count of significant digits", seen, "max_number_digits",
                      limits.max_number_digits);
  }
  if (auto written = check_exponent(number.exponent, limits); !written) return written;
  if (is_zero(number)) return {};
  return check_exponent(position_of(number) - 1, limits);
}

decimal normalised(number_text const& number) {
  decimal d;
  d.position = position_of(number);
  if (number.integer != "0") d.digits = number.integer;
  d.digits += number.fraction.substr(leading_zeros(number));
  d.digits.resize(d.digits.find_last_not_of('0') + 1);
  return d;
}

void append_scientific(decimal const& d, std::string& out) {
  out += d.digits.front();
  if (d.digits.size() > 1) out.append(".").append(d.digits, 1);
  auto const exponent = d.position - 1;
  out += exponent < 0 ? "e-" : "e+";
  out += std::to_string(exponent < 0 ? -exponent : exponent);
}

void append_layout(decimal const& d, std::string& out) {
  auto const size = static_cast<std::int64_t>(d.digits.size());
  if (d.position > max_plain_position || d.position < min_plain_position) {
    append_scientific(d, out);
  } else if (size <= d.position) {
    out.append(d.digits).append(static_cast<std::size_t>(d.position - size), '0');
  } else if (d.position > 0) {
    auto const point = static_cast<std::size_t>(d.position);
    out.append(d.digits, 0, point).append(".").append(d.digits, point);
  } else {
    out.append("0.").append(static_cast<std::size_t>(-d.position), '0').append(d.digits);
  }
}

}  // namespace

result<> append_canonical_number(std::string_view text, json_limits const& limits,
                                 std::string& out) {
  auto const number = split(text);
  if (!number) return invalid_argument("JSON text holds a malformed number");
  if (auto within = check_bounds(*number, limits); !within) return within;
  if (is_zero(*number)) {
    out += '0';
    return {};
  }
  if (number->negative) out += '-';
  append_layout(normalised(*number), out);
  return {};
}

}  // namespace idem::inline v1::detail
