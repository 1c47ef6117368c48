// SPDX-License-Identifier: BSL-1.0
#include "core/utf8.h"

#include <algorithm>
#include <cstddef>

namespace idem::inline v1::detail {
namespace {

/// What may follow a lead byte: table 3-7 of the Unicode standard. A `size` of 0 is no lead byte.
struct sequence {
  std::size_t size = 0;
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

constexpr sequence sequence_of(unsigned char lead) noexcept {
  if (lead < 0x80) return {1};
  if (lead < 0xC2) return {0};
  if (lead < 0xE0) return {2};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};  // below: overlong
  if (lead == 0xED) return {3, 0x80, 0x9F};  // above: surrogates
  if (lead < 0xF0) return {3};
  if (lead == 0xF0) return {4, 0x90, 0xBF};  // below: overlong
  if (lead < 0xF4) return {4};
  if (lead == 0xF4) return {4, 0x80, 0x8F};  // above: past U+10FFFF
  return {0};
}

constexpr unsigned char byte_at(std::string_view bytes, std::size_t at) noexcept {
  return static_cast<unsigned char>(bytes[at]);
}

/// The size of the well-formed sequence at `at`, or 0.
std::size_t well_formed_at(std::string_view bytes, std::size_t at) noexcept {
  sequence const s = sequence_of(byte_at(bytes, at));
  if (s.size < 2) return s.size;
  if (bytes.size() - at < s.size) return 0;
  unsigned char const second = byte_at(bytes, at + 1);
  if (second < s.second_min || second > s.second_max) return 0;
  for (std::size_t i = 2; i < s.size; ++i) {
    if ((byte_at(bytes, at + i) & 0xC0) != 0x80) return 0;
  }
  return s.size;
}

/// UTF-8 sorts by code point. UTF-16 sorts the same but for one block: code points above
/// U+FFFF (lead bytes F0 to F4) are surrogates there and come before U+E000..U+FFFF (EE, EF).
constexpr int utf16_weight(char c) noexcept {
  int const byte = static_cast<unsigned char>(c);
  return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
}

}  // namespace

bool is_utf8(std::string_view bytes) noexcept {
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t const size = well_formed_at(bytes, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

bool less_by_utf16(std::string_view a, std::string_view b) noexcept {
  return std::ranges::lexicographical_compare(a, b, {}, utf16_weight, utf16_weight);
}

}  // namespace idem::inline v1::detail
