// SPDX-License-Identifier: BSL-1.0
#include <idem/request.h>
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using idem::errc;
using idem::field;
using idem::field_bytes;
using idem::request;
using idem::result;

constexpr idem::identity_parts who{"tenant", "debit:v1", "key"};

std::string hexadecimal(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (char const c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string hexadecimal(std::span<std::byte const> bytes) {
  return hexadecimal({reinterpret_cast<char const*>(bytes.data()), bytes.size()});
}

std::string from_hexadecimal(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string digest_of(request const& r, idem::fingerprint_version version = 1) {
  return hexadecimal(r.fingerprint(version).value().digest);
}

request of_bytes(std::optional<std::string_view> bytes) {
  return request::from_bytes(who, bytes).value();
}
request of_fields(std::vector<field> const& fields) {
  return request::from_fields(who, fields).value();
}
request of_json(std::string_view text, std::vector<std::string> left_out = {}) {
  return request::from_json(who, text, {std::move(left_out), {}}).value();
}

errc refused(result<request> const& r) {
  BOOST_REQUIRE(!r);
  BOOST_TEST((r.error().certainty == idem::certainty::not_executed));
  return r.error().what;
}

// --- the table of docs/fingerprint.md --------------------------------------------------------

struct vector_row {
  std::string maker, input, left_out, version, canonical, digest;
};

std::vector<std::string> cells(std::string const& line) {
  std::vector<std::string> found;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) {
    auto const first = cell.find_first_not_of(" `");
    auto const last = cell.find_last_not_of(" `");
    found.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return found;
}

std::vector<vector_row> read_vectors() {
  std::ifstream file(IDEM_TESTS_DIR "/../docs/fingerprint.md");
  std::vector<vector_row> rows;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## Golden vectors")) in_table = true;
    auto const is_row =
        line.starts_with("| bytes") || line.starts_with("| fields") || line.starts_with("| json");
    if (!in_table || !is_row) continue;
    auto const c = cells(line);
    BOOST_REQUIRE_EQUAL(c.size(), 6U);
    rows.push_back({c[0], c[1], c[2], c[3], c[4], c[5]});
  }
  return rows;
}

field read_field(std::string const& text) {
  auto const equals = text.find('=');
  auto const colon = std::min(text.find(':', equals), text.size());
  auto const type = text.substr(equals + 1, colon - equals - 1);
  auto const value = colon < text.size() ? text.substr(colon + 1) : "";
  field f{text.substr(0, equals), {}};
  if (type == "bool") f.value = value == "true";
  if (type == "int") f.value = std::int64_t{std::stoll(value)};
  if (type == "text") f.value = value;
  if (type == "bytes") f.value = field_bytes{from_hexadecimal(value)};
  return f;
}

std::vector<std::string> words(std::string const& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

request read_request(vector_row const& row) {
  if (row.maker == "json") return of_json(row.input, words(row.left_out));
  if (row.maker == "fields") {
    std::vector<field> fields;
    if (row.input != "none")
      for (auto const& one : words(row.input)) fields.push_back(read_field(one));
    return of_fields(fields);
  }
  if (row.input == "absent") return of_bytes(std::nullopt);
  if (row.input == "empty") return of_bytes("");
  return of_bytes(from_hexadecimal(row.input));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request)

BOOST_AUTO_TEST_CASE(the_documents_golden_vectors) {
  auto const rows = read_vectors();
  BOOST_TEST(rows.size() >= 40);
  std::set<std::string> makers;
  for (auto const& row : rows) {
    makers.insert(row.maker);
    auto const r = read_request(row);
    auto const version = static_cast<idem::fingerprint_version>(std::stoul(row.version));
    BOOST_TEST(hexadecimal(r.canonical()) == row.canonical, row.maker << " " << row.input);
    BOOST_TEST(digest_of(r, version) == row.digest, row.maker << " " << row.input);
  }
  BOOST_TEST(makers.size() == 3);
}

// `printf 'idem fingerprint\0…' | sha256sum` gave these, apart from the table's own maker.
BOOST_AUTO_TEST_CASE(digests_by_another_command) {
  BOOST_TEST(digest_of(of_bytes(std::nullopt)) ==
             "fd1cb381ef34acdb24b103468738d8b8c8ec5bd55134d89cd8a01be70cb62e62");
}

BOOST_AUTO_TEST_CASE(different_contents_have_different_digests) {
  std::vector<idem::request> const all{of_bytes(std::nullopt),
                                       of_bytes(""),
                                       of_bytes("0"),
                                       of_bytes(std::string_view("\0", 1)),
                                       of_bytes("{}"),
                                       of_json("{}"),
                                       of_fields({}),
                                       of_json("null"),
                                       of_json("\"\""),
                                       of_json("{\"a\":null}"),
                                       of_json("[1,2]"),
                                       of_json("[2,1]"),
                                       of_json("\"1\""),
                                       of_json("1"),
                                       of_json("9007199254740993"),
                                       of_json("9007199254740992"),
                                       of_json("{\"a\":1}", {"/b"}),
                                       of_json("{\"a\":1}"),
                                       of_json("{\"a\":1}", {"/b", "/c"}),
                                       of_fields({{"a", {}}}),
                                       of_fields({{"a", ""}}),
                                       of_fields({{"a", field_bytes{""}}}),
                                       of_fields({{"a", "1"}}),
                                       of_fields({{"a", field_bytes{"1"}}}),
                                       of_fields({{"a", std::int64_t{1}}}),
                                       of_fields({{"a", std::int64_t{-1}}}),
                                       of_fields({{"a", true}}),
                                       of_fields({{"a", false}}),
                                       of_fields({{"a", std::int64_t{0}}}),
                                       of_fields({{"a:b", "c"}}),
                                       of_fields({{"a", "b:c"}}),
                                       of_fields({{"a", "b"}, {"c", ""}}),
                                       of_fields({{"a", "1"}, {"b", "2"}}),
                                       of_fields({{"a", "12"}, {"b", ""}})};
  std::set<std::string> digests;
  for (auto const& r : all) digests.insert(digest_of(r));
  BOOST_TEST(digests.size() == all.size());
}

BOOST_AUTO_TEST_CASE(the_same_content_has_the_same_digest) {
  BOOST_TEST(digest_of(of_fields({{"a", "1"}, {"b", true}})) ==
             digest_of(of_fields({{"b", true}, {"a", "1"}})));
  BOOST_TEST(digest_of(of_json("{\"a\":1,\"b\":[2]}")) ==
             digest_of(of_json(" { \"b\" : [ 2.0 ] , \"\\u0061\" : 1e0 } ")));
  BOOST_TEST(digest_of(of_json("{\"a\":1}", {"/x", "/y"})) ==
             digest_of(of_json("{\"a\":1,\"y\":0}", {"/y", "/x", "/y"})));
}

BOOST_AUTO_TEST_CASE(the_identity_is_no_part_of_the_digest) {
  auto const other = idem::request::from_bytes({"other", "transfer:v1", "k"}, "x").value();
  BOOST_TEST(digest_of(other) == digest_of(of_bytes("x")));
}

BOOST_AUTO_TEST_CASE(versions) {
  auto const r = of_bytes("x");
  auto const current = r.fingerprint().value();
  BOOST_TEST(current.version == idem::current_fingerprint_version);
  auto const rehearsal = r.fingerprint(idem::rehearsal_fingerprint_version).value();
  BOOST_TEST(rehearsal.version == idem::rehearsal_fingerprint_version);
  BOOST_TEST((current.digest != rehearsal.digest));
  for (int version = 0; version <= 65535; ++version) {
    auto const v = static_cast<idem::fingerprint_version>(version);
    bool const known = version == 1 || version == 65535;
    auto const print = r.fingerprint(v);
    if (idem::is_known(v) != known || print.has_value() != known) BOOST_ERROR(version);
    if (!print && print.error().what != errc::fingerprint_unknown) BOOST_ERROR(version);
  }
}

BOOST_AUTO_TEST_CASE(fields_that_are_refused) {
  auto const make = [](std::vector<field> const& f) { return idem::request::from_fields(who, f); };
  BOOST_TEST((refused(make({{"", "x"}})) == errc::invalid_argument));
  BOOST_TEST((refused(make({{"a\xff", "x"}})) == errc::invalid_argument));
  BOOST_TEST((refused(make({{"a", "x"}, {"b", "y"}, {"a", "z"}})) == errc::invalid_argument));
  BOOST_TEST((refused(make({{"a", "secret\xff"}})) == errc::invalid_argument));
  BOOST_TEST(make({{"a", "secret\xff"}}).error().message.find("secret") == std::string::npos);
  BOOST_TEST(make({{"a", field_bytes{"\xff"}}}).has_value());
}

BOOST_AUTO_TEST_CASE(json_that_is_refused) {
  auto const make = [](std::string_view text, idem::json_options o = {}) {
    return idem::request::from_json(who, text, std::move(o));
  };
  BOOST_TEST((refused(make("")) == errc::invalid_argument));
  BOOST_TEST((refused(make("{\"secret\":1,\"secret\":1}")) == errc::invalid_argument));
  BOOST_TEST(make("{\"secret\":}").error().message.find("secret") == std::string::npos);
  BOOST_TEST((refused(make("{}", {{"no pointer"}, {}})) == errc::invalid_argument));
  BOOST_TEST((refused(make("[[]]", {{}, {100, 1, 10, 10}})) == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(every_maker_checks_the_identity) {
  idem::identity_parts const bad{"", "o", "k"};
  BOOST_TEST((refused(idem::request::from_bytes(bad, "x")) == errc::invalid_argument));
  BOOST_TEST((refused(idem::request::from_fields(bad, {})) == errc::invalid_argument));
  BOOST_TEST((refused(idem::request::from_json(bad, "{}")) == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_copy_keeps_the_material) {
  std::optional<idem::request> original = of_bytes("material");
  auto const copy = *original;
  auto const view = original->canonical();
  original.reset();
  BOOST_TEST(copy.canonical() == "material");
  BOOST_TEST(view.data() == copy.canonical().data());  // shared, not copied
  BOOST_TEST(copy.identity().key() == "key");
}

BOOST_AUTO_TEST_SUITE_END()
