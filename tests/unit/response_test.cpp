// SPDX-License-Identifier: BSL-1.0
#include <idem/response.h>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

namespace {

using headers = std::vector<std::pair<std::string, std::string>>;

headers random_headers(std::mt19937& random) {
  std::uniform_int_distribution<std::size_t> length(0, 300);
  std::uniform_int_distribution<int> byte(0, 255);
  headers all(random() % 5);
  for (auto& [name, text] : all) {
    name.resize(length(random));
    text.resize(length(random));
    for (char& c : name) c = static_cast<char>(byte(random));
    for (char& c : text) c = static_cast<char>(byte(random));
  }
  return all;
}

void round_trip(headers const& all) {
  idem::response const r{200, all, std::nullopt};
  auto const decoded = idem::decode_headers(idem::encode_headers(r));
  BOOST_REQUIRE(decoded);
  BOOST_TEST((*decoded == all));
  BOOST_TEST(idem::stored_size(r) == idem::encode_headers(r).size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(response)

BOOST_AUTO_TEST_CASE(headers_keep_order_repetitions_and_bytes) {
  round_trip({});
  round_trip({{"", ""}});
  round_trip({{"a", "1"}, {"A", "1"}, {"a", "2"}, {"a", "1"}});
  round_trip({{std::string("n\0m", 3), std::string("\xff\0\r\n", 4)}});
  round_trip({{std::string(70'000, 'n'), std::string(1 << 17, 'v')}});
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) round_trip(random_headers(random));
}

BOOST_AUTO_TEST_CASE(the_layout) {
  idem::response const r{200, {{"ab", "c"}}, "body"};
  BOOST_TEST(idem::encode_headers(r) == std::string("\0\0\0\2ab\0\0\0\1c", 11));
  BOOST_TEST(idem::encode_headers({}).empty());
}

BOOST_AUTO_TEST_CASE(stored_size_counts_headers_and_body) {
  BOOST_TEST(idem::stored_size({}) == 0);
  BOOST_TEST(idem::stored_size({200, {}, ""}) == 0);
  BOOST_TEST(idem::stored_size({200, {}, "abc"}) == 3);
  BOOST_TEST(idem::stored_size({200, {{"ab", "c"}}, "abc"}) == 14);
}

BOOST_AUTO_TEST_CASE(what_encode_does_not_write_is_corrupt) {
  std::string const good("\0\0\0\2ab\0\0\0\1c", 11);
  for (std::size_t size = 1; size < good.size(); ++size) {
    auto const cut = idem::decode_headers(std::string_view(good).substr(0, size));
    BOOST_REQUIRE(!cut);
    BOOST_TEST((cut.error().what == idem::errc::corrupt));
  }
  BOOST_TEST(!idem::decode_headers(good + "x"));
  BOOST_TEST(!idem::decode_headers(good + std::string("\0\0\0\0", 4)));
  BOOST_TEST(!idem::decode_headers(std::string("\xff\xff\xff\xff", 4) + "ab"));
}

// Whatever bytes come, an answer and no more than they say.
BOOST_AUTO_TEST_CASE(any_bytes_are_decoded_or_corrupt) {
  std::mt19937 random(2);
  int good = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4);
    auto const decoded = idem::decode_headers(bytes);
    good += decoded ? 1 : 0;
    if (!decoded && decoded.error().what != idem::errc::corrupt) BOOST_ERROR(i);
    if (decoded && idem::encode_headers({0, *decoded, {}}) != bytes) BOOST_ERROR(i);
  }
  BOOST_TEST(good > 100);
}

BOOST_AUTO_TEST_CASE(no_body_and_an_empty_one_differ) {
  idem::response const none{200, {}, std::nullopt};
  idem::response const empty{200, {}, ""};
  BOOST_TEST((none != empty));
}

BOOST_AUTO_TEST_SUITE_END()
