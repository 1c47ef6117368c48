// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/identity_attacks.h"

#include <array>
#include <cstddef>

namespace idem::inline v1::conformance {

namespace {

using namespace std::string_view_literals;
using text = std::string_view;

constexpr std::array ascii_case{"order-a"sv, "ORDER-A"sv, "Order-A"sv, "order-A"sv};
constexpr std::array greek_case{"\xCF\x83\xCE\xB1"sv /* σα */, "\xCE\xA3\xCE\x91"sv /* ΣΑ */,
                                "\xCF\x82\xCE\xB1"sv /* ςα */};
constexpr std::array cyrillic_case{"\xD0\xB6"sv /* ж */, "\xD0\x96"sv /* Ж */};
constexpr std::array case_table{attack{"ASCII", ascii_case}, attack{"Greek", greek_case},
                                attack{"Cyrillic", cyrillic_case}};

constexpr std::array accents{"ordre"sv, "ordr\xC3\xA9"sv /* é */, "ordr\xC3\xA8"sv /* è */,
                             "\xC3\xB6rdre"sv /* ö */, "\xC3\xB8rdre"sv /* ø */};
constexpr std::array sharp_s{"strasse"sv,
                             "stra\xC3\x9F"
                             "e"sv /* ß */,
                             "STRA\xE1\xBA\x9E"
                             "E"sv /* ẞ */};
constexpr std::array turkish_i{"id"sv, "ID"sv,
                               "\xC4\xB0"
                               "d"sv /* İ */,
                               "\xC4\xB1"
                               "d"sv /* ı */};
constexpr std::array full_width{"abc"sv, "\xEF\xBD\x81\xEF\xBD\x82\xEF\xBD\x83"sv /* ａｂｃ */,
                                "\xEF\xBC\xA1\xEF\xBC\xA2\xEF\xBC\xA3"sv /* ＡＢＣ */};
constexpr std::array kana{"\xE3\x81\x82"sv /* あ */, "\xE3\x82\xA2"sv /* ア */,
                          "\xEF\xBD\xB1"sv /* ｱ */, "\xE3\x81\x81"sv /* ぁ */};
constexpr std::array ligatures{"office"sv,
                               "o\xEF\xAC\x83"
                               "ce"sv /* ﬃ */,
                               "\xC3\xA6"sv /* æ */, "ae"sv};
constexpr std::array accent_table{attack{"accents", accents},     attack{"sharp s", sharp_s},
                                  attack{"Turkish i", turkish_i}, attack{"full width", full_width},
                                  attack{"kana", kana},           attack{"ligatures", ligatures}};

constexpr std::array padding{"key"sv,         "key "sv,  "key  "sv,          "key\t"sv,
                             "key\xC2\xA0"sv, " key"sv,  "key\n"sv,          "key\r\n"sv,
                             "key\x01"sv,     "key.0"sv, "key\xE3\x80\x80"sv};
constexpr std::array padding_table{attack{"padding", padding}};

constexpr std::array forms{"\xC3\xA9"sv /* é */, "e\xCC\x81"sv /* e and an accent */, "e"sv};
constexpr std::array hangul{"\xED\x95\x9C"sv /* 한 */,
                            "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"sv /* its letters */};
constexpr std::array angstrom{"\xC3\x85"sv /* Å */, "\xE2\x84\xAB"sv /* Å the unit */,
                              "A\xCC\x8A"sv};
constexpr std::array mark_order{"a\xCC\xA3\xCC\x82"sv /* dot below, circumflex */,
                                "a\xCC\x82\xCC\xA3"sv};
constexpr std::array weightless{"ab"sv,
                                "a\xE2\x80\x8B"
                                "b"sv /* zero-width space */,
                                "a\xE2\x80\x8D"
                                "b"sv /* zero-width joiner */,
                                "a\xC2\xAD"
                                "b"sv /* soft hyphen */,
                                "\xEF\xBB\xBF"
                                "ab"sv /* byte order mark */,
                                "a\x01"
                                "b"sv,
                                "ab\xEF\xB8\x8F"sv /* variation selector */,
                                "a\xE2\x80\xAE"
                                "b"sv /* right-to-left override */};
constexpr std::array emoji{"\xF0\x9F\x8E\xA9"sv /* top hat */, "\xF0\x9F\x92\xA5"sv /* collision */,
                           "\xF0\x9F\x91\x8D"sv /* thumb */,
                           "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD"sv /* thumb, skin tone */};
constexpr std::array normal_table{
    attack{"NFC and NFD", forms},     attack{"Hangul", hangul},
    attack{"Angstrom", angstrom},     attack{"order of marks", mark_order},
    attack{"weightless", weightless}, attack{"emoji", emoji}};

// What a narrow code page or a lossy client turns into question marks.
constexpr std::array lossy{"??"sv,
                           "\xE6\xBC\xA2\xE5\xAD\x97"sv /* 漢字 */,
                           "\xE6\xB1\x89\xE5\xAD\x97"sv /* 汉字 */,
                           "\xD8\xB9\xD8\xB1"sv /* عر */,
                           "\xD7\xA2\xD7\x91"sv /* עב */,
                           "\xEF\xBF\xBD\xEF\xBF\xBD"sv /* U+FFFD twice */,
                           "\xC2\xBF\xC2\xBF"sv /* ¿¿ */,
                           "????"sv,
                           "\xF0\x9F\x8E\xA9"sv /* outside the first plane */,
                           "\xF0\x9F\x92\xA5"sv,
                           "\xE2\x82\xAC\xE2\x82\xAC"sv /* €€ */,
                           "\xC2\x80\xC2\x80"sv /* € by a code page */,
                           "\xC3\xA9\xC3\xA9"sv,
                           "\xC3\x83\xC2\xA9\xC3\x83\xC2\xA9"sv /* the same, encoded twice */};
constexpr std::array code_page_table{attack{"lossy", lossy}};

constexpr std::array numbers{"1"sv,    "01"sv,   "1.0"sv,   "1e0"sv,   "+1"sv,
                             " 1"sv,   "1 "sv,   "0x31"sv,  "x'31'"sv, "31"sv,
                             "1abc"sv, "true"sv, "\\x31"sv, "0x1"sv,   "\xEF\xBC\x91"sv /* １ */,
                             "0"sv,    "-0"sv,   "00"sv,    "null"sv,  "NULL"sv};
constexpr std::array number_table{attack{"numbers", numbers}};

constexpr std::array metacharacters{"'"sv,
                                    "''"sv,
                                    "\""sv,
                                    "\"\""sv,
                                    "\\"sv,
                                    "\\\\"sv,
                                    "\\'"sv,
                                    "%"sv,
                                    "%%"sv,
                                    "_"sv,
                                    "a_c"sv,
                                    "abc"sv,
                                    "a%"sv,
                                    "a\\%"sv,
                                    ";"sv,
                                    "--"sv,
                                    "/*"sv,
                                    "*/"sv,
                                    "#"sv,
                                    "`"sv,
                                    "``"sv,
                                    "["sv,
                                    "]"sv,
                                    "?"sv,
                                    "?1"sv,
                                    ":key"sv,
                                    "@key"sv,
                                    "$1"sv,
                                    "$$"sv,
                                    "{schema}"sv,
                                    "{prefix}"sv,
                                    "\\0"sv,
                                    "\n"sv,
                                    "\r"sv,
                                    "\x1A"sv,
                                    "\x08"sv,
                                    "\x7F"sv,
                                    "&amp;"sv,
                                    "<"sv,
                                    "%00"sv,
                                    "%s"sv,
                                    "%n"sv,
                                    "'; DROP TABLE idem_record; --"sv,
                                    "' OR '1'='1"sv,
                                    "x' UNION SELECT 1 --"sv,
                                    "\xCA\xBC"sv /* a letter that a best fit turns into a quote */,
                                    "\xEF\xBC\x87"sv /* full-width quote */,
                                    "\\u0027"sv,
                                    "\xC2\xA5"sv /* ¥, a backslash in some */};
constexpr std::array sql_table{attack{"metacharacters", metacharacters}};

constexpr std::array invalid{
    "\x80"sv,  // a continuation alone
    "\xC3"sv,  // cut
    "a\xC3"sv,
    "\xC3z"sv,  // not continued
    "\xE2\x82"sv,
    "\xF0\x9F\x8E"sv,
    "\xC0\xAF"sv,  // a slash, overlong
    "\xC1\xBF"sv,
    "\xE0\x80\xAF"sv,
    "\xE0\x9F\xBF"sv,
    "\xF0\x80\x80\xAF"sv,
    "\xF0\x8F\xBF\xBF"sv,
    "\xC0\x80"sv,      // NUL as Java writes it
    "\xED\xA0\x80"sv,  // surrogates
    "\xED\xBF\xBF"sv,
    "\xED\xA0\xBD\xED\xB8\x80"sv,
    "\xF4\x90\x80\x80"sv,  // beyond U+10FFFF
    "\xF5\x80\x80\x80"sv,
    "\xF8\x88\x80\x80\x80"sv,
    "\xFE"sv,
    "\xFF"sv,
    "\xE9t\xE9"sv,  // Latin-1
    "\xEF\xBF"sv,
};

struct lead_range {
  unsigned char first, last;
  std::size_t more;                      // continuation bytes
  unsigned char second_min, second_max;  // bounds of the first of them
};

constexpr lead_range lead_ranges[] = {
    {0x00, 0x7F, 0, 0, 0},       {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
    {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F}, {0xEE, 0xEF, 2, 0x80, 0xBF},
    {0xF0, 0xF0, 3, 0x90, 0xBF}, {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F}};

// The length of the character at the front, or 0.
std::size_t valid_front(std::string_view bytes) noexcept {
  auto const at = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (auto const& r : lead_ranges) {
    if (at(0) < r.first || at(0) > r.last) continue;
    if (bytes.size() <= r.more) return 0;
    if (r.more > 0 && (at(1) < r.second_min || at(1) > r.second_max)) return 0;
    for (std::size_t i = 2; i <= r.more; ++i)
      if (at(i) < 0x80 || at(i) > 0xBF) return 0;
    return r.more + 1;
  }
  return 0;
}

}  // namespace

std::span<attack const> case_attacks() { return case_table; }
std::span<attack const> accent_attacks() { return accent_table; }
std::span<attack const> padding_attacks() { return padding_table; }
std::span<attack const> normal_attacks() { return normal_table; }
std::span<attack const> code_page_attacks() { return code_page_table; }
std::span<attack const> number_attacks() { return number_table; }
std::span<attack const> sql_attacks() { return sql_table; }
std::span<std::string_view const> invalid_utf8() { return invalid; }

bool is_valid_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    auto const size = valid_front(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace idem::inline v1::conformance
