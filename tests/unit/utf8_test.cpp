// SPDX-License-Identifier: BSL-1.0
#include "core/utf8.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using idem::detail::is_utf8;
using idem::detail::less_by_utf16;

/// The reference: decodes by arithmetic and judges the code point, where the code under test
/// judges bytes by table 3-7.
std::optional<char32_t> decode(std::string_view bytes, std::size_t& at) {
  auto const lead = static_cast<unsigned char>(bytes[at]);
  std::size_t const size = lead < 0x80   ? 1
                           : lead < 0xC0 ? 0
                           : lead < 0xE0 ? 2
                           : lead < 0xF0 ? 3
                           : lead < 0xF8 ? 4
                                         : 0;
  if (size == 0 || bytes.size() - at < size) return {};
  char32_t value = size == 1 ? lead : lead & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    auto const next = static_cast<unsigned char>(bytes[at + i]);
    if (next >> 6 != 2) return {};
    value = value << 6 | (next & 0x3Fu);
  }
  char32_t const least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[size] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  at += size;
  return value;
}

bool reference_is_utf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (!decode(bytes, at)) return false;
  }
  return true;
}

/// Encodes any number below 2^21 in `size` bytes, well-formed or not.
std::string encode(std::uint32_t value, std::size_t size) {
  if (size == 1) return std::string(1, static_cast<char>(value));
  std::string bytes(size, '\0');
  for (std::size_t i = size; i-- > 1; value >>= 6) {
    bytes[i] = static_cast<char>(0x80 | (value & 0x3F));
  }
  bytes[0] = static_cast<char>((0xF00u >> size) | value);
  return bytes;
}

std::string encode(std::uint32_t value) {
  return encode(value, value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4);
}

std::u16string utf16(std::string_view bytes) {
  std::u16string units;
  std::size_t at = 0;
  while (at < bytes.size()) {
    auto const value = decode(bytes, at).value();
    if (value < 0x10000) {
      units += static_cast<char16_t>(value);
    } else {
      units += static_cast<char16_t>(0xD800 + ((value - 0x10000) >> 10));
      units += static_cast<char16_t>(0xDC00 + ((value - 0x10000) & 0x3FF));
    }
  }
  return units;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(every_code_point_and_no_surrogate) {
  std::size_t wrong = 0;
  for (std::uint32_t value = 0; value < 0x110000; ++value) {
    bool const surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (is_utf8(encode(value)) == surrogate) ++wrong;
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(overlong_forms_and_values_past_the_last_are_refused) {
  std::size_t wrong = 0;
  for (std::uint32_t value = 0; value < 0x80; ++value) wrong += is_utf8(encode(value, 2)) ? 1 : 0;
  for (std::uint32_t value = 0; value < 0x800; ++value) wrong += is_utf8(encode(value, 3)) ? 1 : 0;
  for (std::uint32_t value = 0; value < 0x10000; ++value) {
    wrong += is_utf8(encode(value, 4)) ? 1 : 0;
  }
  for (std::uint32_t value = 0x110000; value < 0x200000; ++value) {
    wrong += is_utf8(encode(value, 4)) ? 1 : 0;
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(every_pair_of_bytes_and_edge_triples_and_quadruples) {
  std::size_t wrong = 0;
  for (unsigned pair = 0; pair < 0x10000; ++pair) {
    std::string const two{static_cast<char>(pair >> 8), static_cast<char>(pair)};
    for (std::string_view const tail : {"", "\x80", "\xBF", "\x80\x80", "\xBF\xC0", "a"}) {
      auto const bytes = two + std::string(tail);
      if (is_utf8(bytes) != reference_is_utf8(bytes)) ++wrong;
    }
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(empty_nul_and_cut_sequences) {
  using namespace std::string_view_literals;
  BOOST_TEST(is_utf8(""));
  BOOST_TEST(is_utf8("a\0b"sv));
  BOOST_TEST(is_utf8("\xE2\x82\xAC"));
  BOOST_TEST(!is_utf8("\xE2\x82"));
  BOOST_TEST(!is_utf8("a\xE2"));
  BOOST_TEST(!is_utf8("\xF0\x9F\x98"));
  BOOST_TEST(!is_utf8("\x80"));
  BOOST_TEST(!is_utf8("\xE2\x82\xACx\xFF"));
}

BOOST_AUTO_TEST_CASE(order_is_that_of_utf16_code_units) {
  std::vector<std::string> texts = {""};
  // Both sides of every border: ASCII, 2, 3 and 4 bytes, surrogates, the private use area.
  for (std::uint32_t const value :
       {0x0u, 0x1u, 0x41u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xEFFFu, 0xF000u,
        0xFFFFu, 0x10000u, 0x103FFu, 0x10400u, 0x1F602u, 0x3FFFFu, 0x40000u, 0x10FFFFu}) {
    texts.push_back(encode(value));
  }
  auto const singles = texts;
  for (auto const& a : singles) {
    for (auto const& b : singles) texts.push_back("p" + a + b);
  }
  std::size_t wrong = 0;
  for (auto const& a : texts) {
    for (auto const& b : texts) {
      if (less_by_utf16(a, b) != (utf16(a) < utf16(b))) ++wrong;
    }
  }
  BOOST_TEST(wrong == 0u);
  BOOST_TEST(less_by_utf16("\xF0\x9F\x98\x82", "\xEF\xAC\xB3"));   // U+1F602 before U+FB33
  BOOST_TEST(!less_by_utf16("\xEF\xAC\xB3", "\xF0\x9F\x98\x82"));  // where bytes say otherwise
}

BOOST_AUTO_TEST_SUITE_END()
