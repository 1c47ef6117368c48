// SPDX-License-Identifier: BSL-1.0
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include <idem/url.h>

namespace {

using idem::parse_target_url;
using idem::percent_decode;
using idem::target_url;
using idem::without_password;

using options = std::vector<std::pair<std::string, std::string>>;

void is(std::string const& url, target_url const& expected) {
  auto const parsed = parse_target_url(url);
  BOOST_REQUIRE_MESSAGE(parsed, url);
  BOOST_TEST(parsed->engine == expected.engine, url);
  BOOST_TEST(parsed->driver == expected.driver, url);
  BOOST_TEST(parsed->rest == expected.rest, url);
  BOOST_TEST((parsed->options == expected.options), url);
}

void refused(std::string const& url, std::string_view because) {
  auto const parsed = parse_target_url(url);
  BOOST_REQUIRE_MESSAGE(!parsed, url);
  BOOST_TEST((parsed.error().what == idem::errc::configuration));
  BOOST_TEST((parsed.error().certainty == idem::certainty::not_executed));
  BOOST_TEST(parsed.error().message.contains(because), url << ": " << parsed.error().message);
  BOOST_TEST(!parsed.error().message.contains("s3cret"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(url)

BOOST_AUTO_TEST_CASE(takes_a_url_apart) {
  is("sqlite:/a/b.db", {"sqlite", "", "/a/b.db", {}});
  is("sqlite::memory:", {"sqlite", "", ":memory:", {}});
  is("SQLite:x", {"sqlite", "", "x", {}});
  is("sqlserver+odbc:Driver=x;Server=y", {"sqlserver", "odbc", "Driver=x;Server=y", {}});
  is("db2:", {"db2", "", "", {}});
  is("e:r?", {"e", "", "r", {}});
  is("postgresql://me:s3cret@host:5432/db?b=2&a=1&c=",
     {"postgresql", "", "//me:s3cret@host:5432/db", options{{"b", "2"}, {"a", "1"}, {"c", ""}}});
}

BOOST_AUTO_TEST_CASE(decodes_options_and_leaves_the_rest_as_it_is) {
  is("e:a%3Fb?n%61me=%26%3d+%25&o=a=b?c",
     {"e", "", "a%3Fb", options{{"name", "&=+%"}, {"o", "a=b?c"}}});
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_url) {
  refused("", "engine:rest");
  refused("/just/a/path s3cret", "engine:rest");
  refused(":x", "engine");
  refused("2db:x", "engine");
  refused("my_db:s3cret", "engine");
  refused("e+:x", "driver");
  refused("e+a+b:x", "driver");
  refused("e:x?s3cret", "name=value");
  refused("e:x?=s3cret", "name=value");
  refused("e:x?a=1&&b=2", "name=value");
  refused("e:x?a=1&a=2", "twice");
  refused("e:x?a=%4", "%25");
  refused("e:x?a=%zz", "%25");
  refused("e:x?a=s3cret%", "%25");
  refused("e:" + std::string(9000, 'x'), "8192");
}

BOOST_AUTO_TEST_CASE(percent_decoding_takes_every_byte) {
  BOOST_TEST(percent_decode("%00%ff%41%4a+").value() == std::string("\0\xff"
                                                                    "AJ+",
                                                                    5));
  BOOST_TEST(!percent_decode("%"));
  BOOST_TEST(!percent_decode("a%1"));
  BOOST_TEST(!percent_decode("%g0"));
}

BOOST_AUTO_TEST_CASE(shows_no_password) {
  auto const shown = [](std::string const& url) {
    return without_password(parse_target_url(url).value());
  };
  BOOST_TEST(shown("sqlite:/a/b.db?busy_ms=5") == "sqlite:/a/b.db?busy_ms=5");
  BOOST_TEST(shown("mysql+odbc://me:s3cret@host/db?ssl=1&DB_Password=s3cret&tokens=s3cret") ==
             "mysql+odbc://me:***@host/db?ssl=1&DB_Password=***&tokens=***");
  BOOST_TEST(shown("pg://me:s3:cr@et@host:1/db@x") == "pg://me:***@host:1/db@x");
  BOOST_TEST(shown("pg://host:1/db@x") == "pg://host:1/db@x");
  BOOST_TEST(shown("pg://me@host:1/db") == "pg://me@host:1/db");
}

BOOST_AUTO_TEST_SUITE_END()
