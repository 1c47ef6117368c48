// SPDX-License-Identifier: BSL-1.0
#include "dialects/postgresql/placeholders.h"

#include <boost/test/unit_test.hpp>

namespace {

using idem::postgresql::detail::number_placeholders;

void check(std::string_view sql, std::string_view numbered, std::size_t count) {
  auto const made = number_placeholders(sql);
  BOOST_TEST(made.sql == numbered);
  BOOST_TEST(made.placeholders == count);
}

void check_untouched(std::string_view sql) { check(sql, sql, 0); }

}  // namespace

BOOST_AUTO_TEST_SUITE(postgresql_placeholders)

BOOST_AUTO_TEST_CASE(are_numbered_in_order) {
  check("SELECT ?", "SELECT $1", 1);
  check("?,?,?", "$1,$2,$3", 3);
  check("VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", 11);
  check("", "", 0);
}

BOOST_AUTO_TEST_CASE(a_doubled_one_is_the_operator) {
  check("SELECT a ?? ?", "SELECT a ? $1", 1);
  check("SELECT a ??| b AND c ??& ?", "SELECT a ?| b AND c ?& $1", 1);
}

BOOST_AUTO_TEST_CASE(literals_names_and_comments_are_left_alone) {
  check_untouched("SELECT 'a ? b'");
  check_untouched("SELECT 'it''s ? here'");
  check_untouched("SELECT \"a?\" FROM t");
  check_untouched("SELECT \"a\"\"?\" FROM t");
  check_untouched("SELECT 1 -- why?\n");
  check_untouched("SELECT 1 -- why?");
  check_untouched("SELECT /* ? /* nested ? */ ? */ 1");
  check_untouched("SELECT $$ ? $$");
  check_untouched("SELECT $tag$ ? $$ ? $tag$");
  check_untouched("SELECT $1 + $2");
}

BOOST_AUTO_TEST_CASE(go_on_after_them) {
  check("SELECT '?', ?", "SELECT '?', $1", 1);
  check("SELECT 1 --?\n, ?", "SELECT 1 --?\n, $1", 1);
  check("SELECT /*?*/ ?", "SELECT /*?*/ $1", 1);
  check("SELECT $a$?$a$, ?", "SELECT $a$?$a$, $1", 1);
  check("SELECT 4 - ? / ?", "SELECT 4 - $1 / $2", 2);
}

// In a plain literal a backslash is itself; in E'…' it takes the quotation mark with it.
BOOST_AUTO_TEST_CASE(backslashes) {
  check("SELECT 'a\\', ?", "SELECT 'a\\', $1", 1);
  check("SELECT E'a\\'?', ?", "SELECT E'a\\'?', $1", 1);
  check("SELECT e'\\\\', ?", "SELECT e'\\\\', $1", 1);
  check("SELECT note'\\', ?", "SELECT note'\\', $1", 1);
}

BOOST_AUTO_TEST_CASE(a_dollar_inside_a_name_quotes_nothing) {
  check("SELECT a$b$, ?", "SELECT a$b$, $1", 1);
}

BOOST_AUTO_TEST_CASE(what_is_not_closed_ends_with_the_text) {
  for (auto const sql : {"'?", "\"?", "/* ?", "/* /* */ ?", "$$ ?", "E'\\", "'", "$", "$x"})
    check_untouched(sql);
}

BOOST_AUTO_TEST_SUITE_END()
