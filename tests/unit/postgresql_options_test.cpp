// SPDX-License-Identifier: BSL-1.0
// What needs no server: URLs, and connections that cannot be made.
#include <idem/postgresql.h>

#include <boost/test/unit_test.hpp>

namespace {

using idem::errc;
using idem::postgresql::parse_url;

void check_refused(std::string_view url, std::string_view hint) {
  BOOST_TEST_CONTEXT(url) {
    auto const parsed = parse_url(url);
    BOOST_REQUIRE(!parsed);
    BOOST_TEST((parsed.error().what == errc::configuration));
    BOOST_TEST(parsed.error().message.contains(hint), parsed.error().message);
    BOOST_TEST(!parsed.error().message.contains("hush"));
  }
}

idem::error refused_connection(std::string const& conninfo, idem::call_limits const& limits = {}) {
  auto const made = idem::postgresql::connect({.conninfo = conninfo}, limits);
  BOOST_REQUIRE(!made);
  auto const& e = made.error();
  BOOST_TEST((e.phase == idem::phase::connect));
  BOOST_TEST((e.certainty == idem::certainty::not_executed));
  BOOST_TEST(!describe(e).contains("hush"));
  BOOST_TEST(!e.native.message.contains("hush"));
  return e;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(postgresql_options)

BOOST_AUTO_TEST_CASE(only_our_own_option_is_taken_out) {
  auto const plain = parse_url("postgresql://u:hush@h:1/d");
  BOOST_REQUIRE(plain);
  BOOST_TEST(plain->conninfo == "postgresql://u:hush@h:1/d");
  BOOST_TEST(plain->prepared);
  auto const off = parse_url("postgres://h/d?sslmode=require&prepared=off&application_name=a%20b");
  BOOST_REQUIRE(off);
  BOOST_TEST(off->conninfo == "postgres://h/d?sslmode=require&application_name=a%20b");
  BOOST_TEST(!off->prepared);
  BOOST_TEST(parse_url("postgresql://h/d?prepared=on")->conninfo == "postgresql://h/d");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_without_the_url) {
  check_refused("mysql://u:hush@h/d", "postgresql://");
  check_refused("postgresql:hush", "postgresql://");
  check_refused("postgresql://u:hush@h/d?prepared=maybe", "on, off");
  check_refused(std::string_view("postgresql://u:hush@h/\0d", 24), "NUL");
}

BOOST_AUTO_TEST_CASE(libpq_cannot_read_it) {
  for (auto const* const url : {"postgresql://u:hush@h/d?nonsense=1", "postgresql://u:hush@[h/d",
                                "postgresql://u:hush%zz@h/d"}) {
    auto const e = refused_connection(url);
    BOOST_TEST((e.what == errc::configuration), url);
  }
}

BOOST_AUTO_TEST_CASE(nobody_listens) {
  (void)refused_connection("postgresql://u:hush@127.0.0.1:port/d");
  auto const e = refused_connection("postgresql://u:hush@127.0.0.1:1/d");
  BOOST_TEST((e.what == errc::connection_failed));
  BOOST_TEST((e.advice == idem::advice::new_connection));
  BOOST_TEST(e.message.contains("127.0.0.1, port 1"), e.message);
}

BOOST_AUTO_TEST_CASE(a_stop_that_came_before) {
  std::stop_source source;
  source.request_stop();
  auto const e =
      refused_connection("postgresql://u:hush@127.0.0.1:1/d", {.stop = source.get_token()});
  BOOST_TEST((e.what == errc::cancelled || e.what == errc::connection_failed));
}

BOOST_AUTO_TEST_SUITE_END()
