// SPDX-License-Identifier: BSL-1.0
#include "core/canonical_json.h"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using idem::errc;
using idem::json_limits;
using idem::detail::canonical_json;
using idem::detail::check_json_pointer;
using namespace std::string_view_literals;

using pointers = std::vector<std::string>;

/// The canonical form, or "refused: " and the message.
std::string canonical(std::string_view text, pointers const& left_out = {},
                      json_limits const& limits = {}) {
  auto const form = canonical_json(text, left_out, limits);
  if (form) return *form;
  BOOST_TEST((form.error().what == errc::invalid_argument));
  return "refused: " + form.error().message;
}

bool is_refused(std::string_view text, pointers const& left_out = {},
                json_limits const& limits = {}) {
  auto const form = canonical_json(text, left_out, limits);
  return !form && form.error().what == errc::invalid_argument;
}

/// The shortest digits that read back as the double with these bits, in scientific notation.
std::string shortest(std::uint64_t bits) {
  char text[64];
  auto const end = std::to_chars(text, text + sizeof text, std::bit_cast<double>(bits),
                                 std::chars_format::scientific);
  return std::string(text, end.ptr);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(canonical_json)

// RFC 8785 section 3.2.2 (input) and 3.2.3 (output); the same text is testdata/input/values.json
// of github.com/cyberphone/json-canonicalization.
// On purpose different: the RFC rounds 333333333.33333329 to the double it reads as, and writes
// 333333333.3333333. We keep the value written. The other numbers are written as the RFC does,
// 1E30 as 1e+30 included.
BOOST_AUTO_TEST_CASE(rfc8785_example) {
  auto const* const input = R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  })";
  BOOST_TEST(canonical(input) == R"({"literals":[null,true,false],)"
                                 R"("numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],)"
                                 R"("string":"€$\u000f\nA'B\"\\\\\"/"})");
}

// RFC 8785 section 3.2.3, the sorting example; testdata/input/weird.json of the same repository
// has it with "</script>".
BOOST_AUTO_TEST_CASE(rfc8785_sorting_example) {
  auto const* const input = R"({
    "\u20ac": "Euro Sign", "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"
  })";
  BOOST_TEST(canonical(input) ==
             "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\","
             "\"\xC3\xB6\":\"Latin Small Letter O With Diaeresis\",\"\xE2\x82\xAC\":\"Euro Sign\","
             "\"\xF0\x9F\x98\x80\":\"Emoji: Grinning Face\","
             "\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

// From testdata/input/{structures,arrays}.json of github.com/cyberphone/json-canonicalization.
BOOST_AUTO_TEST_CASE(reference_implementation_structures) {
  BOOST_TEST(canonical(R"({"1": {"f": {"f": "hi","F": 5} ,"\n": 56.0}, "10": { }, "": "empty",
                           "a": { }, "111": [ {"e": "yes","E": "no" } ], "A": { }})") ==
             R"({"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},)"
             R"("111":[{"E":"no","e":"yes"}],"A":{},"a":{}})");
  BOOST_TEST(canonical(R"([ 56, { "d": true, "10": null, "1": [ ] } ])") ==
             R"([56,{"1":[],"10":null,"d":true}])");
}

struct number_sample {
  std::uint64_t bits;
  std::string_view text;
};

// RFC 8785 appendix B, table 1, without NaN and Infinity, which no JSON text spells; the rows
// 3eb0c6f7a0b5ed8c/8d are also in testdata/README.md of cyberphone/json-canonicalization. The
// table begins at doubles, so each is given as its shortest text.
constexpr number_sample rfc8785_numbers[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
};

BOOST_AUTO_TEST_CASE(rfc8785_number_samples) {
  for (auto const& sample : rfc8785_numbers) {
    BOOST_TEST(canonical(shortest(sample.bits)) == sample.text);
    BOOST_TEST(canonical(sample.text) == sample.text);
  }
  // On purpose different: texts the RFC would round to a sample above stay what they are.
  BOOST_TEST(canonical("295147905179352825856") == "295147905179352825856");  // 2^68 in full
  BOOST_TEST(canonical("1424953923781206.25") == "1424953923781206.25");
  BOOST_TEST(canonical("100000000000000000000001e-1") == "1.00000000000000000000001e+22");
  BOOST_TEST(canonical("1e400") == "1e+400");   // the RFC: not a number of JSON's
  BOOST_TEST(canonical("1e-400") == "1e-400");  // the RFC: 0
}

BOOST_AUTO_TEST_CASE(numbers_keep_their_exact_value) {
  for (auto const* const one : {"1", "1.0", "1e0", "10e-1", "1E+0", "0.1e1", "1.00e-0"}) {
    BOOST_TEST(canonical(one) == "1");
  }
  for (auto const* const zero : {"0", "-0", "0.0", "-0.000e7", "0e65536", "0E-65536"}) {
    BOOST_TEST(canonical(zero) == "0");
  }
  BOOST_TEST(canonical("9007199254740993") == "9007199254740993");
  BOOST_TEST(canonical("0.1000000000000000055511151231257827") ==
             "0.1000000000000000055511151231257827");
  BOOST_TEST(canonical("-1200e-2") == "-12");
  BOOST_TEST(canonical("18446744073709551616") == "18446744073709551616");
  BOOST_TEST(canonical("[1,-1,10]") == "[1,-1,10]");
}

BOOST_AUTO_TEST_CASE(layout_at_its_borders) {
  BOOST_TEST(canonical("1e20") == "100000000000000000000");
  BOOST_TEST(canonical("123456789012345678901") == "123456789012345678901");
  BOOST_TEST(canonical("1234567890123456789012") == "1.234567890123456789012e+21");
  BOOST_TEST(canonical("12345678901234567890.1") == "12345678901234567890.1");
  BOOST_TEST(canonical("123456789012345678901.5") == "123456789012345678901.5");
  BOOST_TEST(canonical("0.0000012") == "0.0000012");
  BOOST_TEST(canonical("0.00000012") == "1.2e-7");
  BOOST_TEST(canonical("12e-1") == "1.2");
  BOOST_TEST(canonical("1e65536") == "1e+65536");
  BOOST_TEST(canonical("1e-65536") == "1e-65536");
}

BOOST_AUTO_TEST_CASE(order_spelling_and_white_space) {
  BOOST_TEST(canonical(" { \"b\" : 1 ,\t\"a\" :\r\n[ 2 , 1 ] } ") == R"({"a":[2,1],"b":1})");
  BOOST_TEST(canonical("[1,2]") != canonical("[2,1]"));
  BOOST_TEST(canonical(R"({"a":null})") != canonical("{}"));
  BOOST_TEST(canonical(R"(["1",1,true,"true",null])") == R"(["1",1,true,"true",null])");
  BOOST_TEST(canonical(R"({"\u0062":1,"a":2})") == R"({"a":2,"b":1})");
  BOOST_TEST(canonical(R"({"b":{"y":1,"x":2},"a":{"d":1,"c":[{"z":1,"q":2}]}})") ==
             R"({"a":{"c":[{"q":2,"z":1}],"d":1},"b":{"x":2,"y":1}})");
  for (auto const* const scalar : {"null", "true", "false", "1", "\"x\"", "[]", "{}"}) {
    BOOST_TEST(canonical(scalar) == scalar);
  }
}

BOOST_AUTO_TEST_CASE(strings_are_escaped_as_rfc8785_says) {
  BOOST_TEST(canonical(R"("\b\t\n\f\r\u0000\u001F\"\\\/\u007f")") ==
             "\"\\b\\t\\n\\f\\r\\u0000\\u001f\\\"\\\\/\x7F\"");
  BOOST_TEST(canonical(R"("\u2028\uD83D\uDE02\u00DF")") ==
             "\"\xE2\x80\xA8\xF0\x9F\x98\x82\xC3\x9F\"");
  // Not normalised: RFC 8785 section 3.2.2.2, testdata/input/unicode.json.
  BOOST_TEST(canonical(R"("A\u030a")") == "\"A\xCC\x8A\"");
  BOOST_TEST(canonical(R"({"a\u0000":1,"a":2})") == R"({"a":2,"a\u0000":1})");
}

BOOST_AUTO_TEST_CASE(text_that_is_not_json_is_refused) {
  for (auto const text : {""sv,
                          " "sv,
                          "{"sv,
                          "}"sv,
                          "[1,]"sv,
                          "{\"a\":1,}"sv,
                          "{\"a\"}"sv,
                          "{a:1}"sv,
                          "'a'"sv,
                          "[1 2]"sv,
                          "1 2"sv,
                          "{}{}"sv,
                          "[] x"sv,
                          "nul"sv,
                          "nullx"sv,
                          "True"sv,
                          "truefalse"sv,
                          "NaN"sv,
                          "Infinity"sv,
                          "-Infinity"sv,
                          "Inf"sv,
                          "+1"sv,
                          ".5"sv,
                          "1."sv,
                          "-"sv,
                          "01"sv,
                          "-01"sv,
                          "1e"sv,
                          "1e+"sv,
                          "1.e1"sv,
                          "1-2"sv,
                          "1e5e5"sv,
                          "0x10"sv,
                          "--1"sv,
                          "1.2.3"sv,
                          "1true"sv,
                          "true1"sv,
                          "{1:2}"sv,
                          "[1:2]"sv,
                          "{\"a\" 1}"sv,
                          "\"a"sv,
                          "\"\n\""sv,
                          "\"\\x\""sv,
                          "\"\\u12\""sv,
                          "\"\\u12g4\""sv,
                          "/**/1"sv,
                          "1//"sv,
                          "\xEF\xBB\xBF{}"sv,
                          "{}\0"sv,
                          "\0{}"sv,
                          "[1\0]"sv,
                          "\"a\0b\""sv,
                          "{}\0{}"sv,
                          "1\0"sv,
                          "\x0B"
                          "1"sv,
                          "\xC2\xA0"
                          "1"sv,
                          "[,1]"sv,
                          "[1,,2]"sv,
                          "{,}"sv,
                          "]"sv,
                          "[}"sv,
                          "{\"a\":]}"sv}) {
    BOOST_TEST(is_refused(text), "accepted: " << text);
  }
}

BOOST_AUTO_TEST_CASE(invalid_utf8_and_lone_surrogates_are_refused) {
  for (auto const text :
       {"\"\xFF\""sv, "\"\xC0\x80\""sv, "\"\xED\xA0\x80\""sv, "\"\xF4\x90\x80\x80\""sv,
        "\"\xE2\x82\""sv, "{\"\x80\":1}"sv, R"("\uD800")"sv, R"("\uDC00")"sv, R"("\uDFFF")"sv,
        R"("\uDC00\uD800")"sv, R"("\uD800x")"sv, R"("\uD800\u0041")"sv, R"("\uD800\uD800")"sv,
        R"({"\uDC00":1})"sv, R"({"\uD800":1})"sv, R"(["a","\udead"])"sv}) {
    BOOST_TEST(is_refused(text));
  }
}

BOOST_AUTO_TEST_CASE(duplicate_names_are_refused) {
  BOOST_TEST(is_refused(R"({"a":1,"a":1})"));
  BOOST_TEST(is_refused(R"({"a":1,"\u0061":2})"));
  BOOST_TEST(is_refused(R"({"a":1,"b":2,"c":3,"a":4})"));
  BOOST_TEST(is_refused(R"([{"x":{"":1,"":2}}])"));
  BOOST_TEST(is_refused(R"({"x":1,"a":2,"a":3})", {"/a"}));       // the left-out name
  BOOST_TEST(is_refused(R"({"a":{"b":1,"\u0062":2}})", {"/a"}));  // inside its value
  BOOST_TEST(is_refused(R"({"a":1,"a":{"b":2}})", {"/a/b"}));     // on the way to it
  BOOST_TEST(canonical(R"({"a":{"a":{"a":1}},"b":{"a":1}})") ==
             R"({"a":{"a":{"a":1}},"b":{"a":1}})");
}

BOOST_AUTO_TEST_CASE(left_out_members_are_dropped) {
  auto const* const text = R"({"b":{"t":1,"k":2},"a":[{"t":3},{"t":4,"k":5}],"t":{"t":6}})";
  BOOST_TEST(canonical(text, {"/t"}) == R"({"a":[{"t":3},{"k":5,"t":4}],"b":{"k":2,"t":1}})");
  BOOST_TEST(canonical(text, {"/b/t", "/a/1/t", "/t/t"}) ==
             R"({"a":[{"t":3},{"k":5}],"b":{"k":2},"t":{}})");
  BOOST_TEST(canonical(text, {"/a", "/b", "/t"}) == "{}");
  BOOST_TEST(canonical(text, {"/b", "/b/t", "/b"}) == canonical(text, {"/b"}));
  BOOST_TEST(canonical(R"({"a":1,"t":2,"z":3})", {"/t"}) == R"({"a":1,"z":3})");
  BOOST_TEST(canonical(R"({"":1,"a":2})", {"/"}) == R"({"a":2})");
  BOOST_TEST(canonical(R"({"a/b":1,"m~n":2,"~1":3,"k":4})", {"/a~1b", "/m~0n", "/~01"}) ==
             R"({"k":4})");
  BOOST_TEST(canonical(R"({"\u20ac":1,"k":4})", {"/€"}) == R"({"k":4})");
  BOOST_TEST(canonical(R"({"a":{"0":{"x":1}}})", {"/a/0/x"}) == R"({"a":{"0":{}}})");
}

BOOST_AUTO_TEST_CASE(left_out_pointers_that_name_nothing_change_nothing) {
  auto const* const text = R"({"a":[{"t":1}],"s":"x"})";
  pointers const nothing = {"/b", "/a/1/t", "/a/00/t", "/a/-", "/a/01", "/s/t", "/A", "/a/0/t/u"};
  BOOST_TEST(canonical(text, nothing) == text);
  BOOST_TEST(canonical("1", nothing) == "1");
}

BOOST_AUTO_TEST_CASE(left_out_values_are_still_checked) {
  BOOST_TEST(is_refused(R"({"t":01})", {"/t"}));
  BOOST_TEST(is_refused(R"({"t":"\uDC00"})", {"/t"}));
  BOOST_TEST(is_refused(R"({"t":1e999999})", {"/t"}));
  BOOST_TEST(is_refused(R"({"t":[[[1]]]})", {"/t"}, {.max_depth = 3}));
}

BOOST_AUTO_TEST_CASE(left_out_array_elements_are_refused) {
  BOOST_TEST(is_refused("[1]", {"/0"}));
  BOOST_TEST(is_refused(R"({"a":[1,2]})", {"/a/1"}));
  BOOST_TEST(is_refused(R"({"a":[[1],[2]]})", {"/a/1/0"}));
  BOOST_TEST(is_refused(R"({"a":[1]})", {"/a", "/a/0"}));
  BOOST_TEST(canonical(R"({"a":[1,2]})", {"/a/2"}) == R"({"a":[1,2]})");
}

BOOST_AUTO_TEST_CASE(pointers_are_checked) {
  for (auto const good : {"/"sv, "/a"sv, "/a/0/b"sv, "//"sv, "/~0~1"sv, "/€"sv, "/a\0"sv}) {
    BOOST_TEST(check_json_pointer(good).has_value());
  }
  for (auto const bad : {""sv, "a"sv, "#/a"sv, "/~"sv, "/~2"sv, "/a~/b"sv, "/\xFF"sv}) {
    BOOST_TEST(!check_json_pointer(bad).has_value());
    BOOST_TEST(is_refused("{}", {std::string(bad)}));
  }
}

BOOST_AUTO_TEST_CASE(bounds_are_exact_and_named) {
  BOOST_TEST(canonical("[[1]]", {}, {.max_depth = 2}) == "[[1]]");
  BOOST_TEST(canonical("[[[1]]]", {}, {.max_depth = 2}) ==
             "refused: JSON nesting depth is 3; max_depth is 2");
  BOOST_TEST(canonical("1", {}, {.max_depth = 0}) == "1");
  BOOST_TEST(canonical("[1]", {}, {.max_bytes = 3}) == "[1]");
  BOOST_TEST(canonical("[1] ", {}, {.max_bytes = 3}) ==
             "refused: JSON text's size in bytes is 4; max_bytes is 3");
  json_limits const three_digits = {.max_number_digits = 3};
  BOOST_TEST(canonical("0.000123", {}, three_digits) == "0.000123");
  BOOST_TEST(canonical("1.23e5", {}, three_digits) == "123000");
  for (auto const* const long_number : {"1000", "1.000", "0.1230", "0.000", "1234e-4"}) {
    BOOST_TEST(canonical(long_number, {}, three_digits) ==
               "refused: JSON number's count of significant digits is 4; max_number_digits is 3");
  }
  json_limits const small_exponents = {.max_exponent = 3};
  BOOST_TEST(canonical("[9999,0.001,10e-3,1e3]", {}, small_exponents) == "[9999,0.001,0.01,1000]");
  BOOST_TEST(canonical("10000", {}, small_exponents) ==
             "refused: JSON number's exponent is 4; max_exponent is 3");
  BOOST_TEST(canonical("0.0001", {}, small_exponents) ==
             "refused: JSON number's exponent is -4; max_exponent is 3");
  BOOST_TEST(is_refused("0.001e4", {}, small_exponents));  // 10, but written out of range
  BOOST_TEST(is_refused("0e-4", {}, small_exponents));
  json_limits const none = {.max_number_digits = 3, .max_exponent = INT64_MAX};
  BOOST_TEST(canonical("1e99999999999999999", {}, none) == "1e+99999999999999999");
  BOOST_TEST(is_refused("1e100000000000000000", {}, none));
  BOOST_TEST(is_refused("1e99999999999999999999999999999999", {}, none));
}

BOOST_AUTO_TEST_CASE(no_error_repeats_the_text) {
  for (auto const* const text : {R"({"secret":1,"secret":2})", "secret", R"("secret\uDC00")",
                                 R"("secret)", R"(["secret",01])", R"({"secret":[1]})"}) {
    auto const message = canonical(text, {"/secret/0"});
    BOOST_TEST(message.starts_with("refused: "));
    BOOST_TEST(!message.contains("secret"));
  }
}

BOOST_AUTO_TEST_SUITE_END()
