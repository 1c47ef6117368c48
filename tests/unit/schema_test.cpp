// SPDX-License-Identifier: BSL-1.0
#include <idem/schema.h>
#include <idem/store.h>
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/support/stub_session.h"

namespace {

using idem::errc;
using idem::rows;
using idem::table_names;
using idem::value;
using idem_test::make_error;
using idem_test::stub_session;
using texts = std::vector<std::string>;

constexpr idem::migration migrations[] = {
    {1, "0001_first.sql",
     "CREATE TABLE {schema}.{prefix}records (\n  a;\n)\n;\n\n;\nCREATE VIEW v\n"},
    {2, "0002_second.sql", ";\nALTER {prefix}records\n;\n"}};

constexpr idem::expected_column columns[] = {{"records", "scope", "BLOB", false, 1},
                                             {"records", "body", "BLOB", true, 0},
                                             {"schema_version", "version", "INTEGER", false, 1}};

idem::dialect schema_dialect() {
  idem::dialect d;
  d.name = "stub";
  d.schema.migrations = migrations;
  d.schema.columns = columns;
  d.schema.default_schema = "main";
  d.schema.max_identifier_bytes = 30;
  d.schema.version_table_exists = "EXISTS {prefix}";
  d.schema.version = "VERSION {prefix}";
  d.schema.record_version = "RECORD {prefix}";
  d.schema.columns_found = "COLUMNS {prefix}";
  d.schema.breaches = "BREACHES {prefix}";
  return d;
}

/// A database that has this version and these columns.
struct database : stub_session {
  explicit database(std::int64_t installed) : version(installed) {
    dialect = schema_dialect();
    answer = [this](std::string_view sql) -> rows_result {
      if (sql.starts_with("EXISTS")) return version > 0 ? one(std::int64_t{1}) : rows{};
      if (sql.starts_with("VERSION")) return one(version);
      if (sql.starts_with("COLUMNS")) return rows{found, 0};
      if (sql.starts_with("BREACHES")) return rows{breaches, 0};
      if (sql == failing) return std::unexpected(make_error(errc::permission_denied));
      done.emplace_back(sql);
      return rows{};
    };
  }
  static rows one(std::int64_t n) { return rows{{{value(n)}}, 0}; }

  void add(char const* table, char const* name, char const* type, bool nullable,
           std::int64_t place) {
    found.push_back(
        {value(table), value(name), value(type), value(std::int64_t{nullable}), value(place)});
  }

  std::int64_t version;
  std::vector<std::vector<value>> found, breaches;
  texts done;
  std::string failing;
};

idem::result<table_names> check(std::string schema, std::string prefix) {
  return idem::schema::check_names(schema_dialect(), {std::move(schema), std::move(prefix)});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(schema)

BOOST_AUTO_TEST_CASE(names_that_are_taken) {
  auto const defaults = check("", "idem_").value();
  BOOST_TEST(defaults.schema == "main");
  BOOST_TEST(defaults.prefix == "idem_");
  for (char const* name : {"a", "A9_", "_", "_9", "camelCase"})
    BOOST_TEST(check(name, name).has_value(), name);
  BOOST_TEST(check("s", "").has_value());
  BOOST_TEST(check(std::string(30, 's'), "").has_value());
  // With the longest table's name behind it the prefix still fits.
  BOOST_TEST(check("", std::string(16, 'p')).has_value());
}

BOOST_AUTO_TEST_CASE(names_that_are_refused) {
  for (char const* name : {"9a", "a b", "a-b", "a.b", "a\"b", "a'b", "a;b", "a`b", "a]b", "a$b",
                           "é", "a\n", "{schema}", "a--", "a/*"}) {
    for (auto const& refused : {check(name, "idem_"), check("", name)}) {
      BOOST_REQUIRE_MESSAGE(!refused, name);
      BOOST_TEST((refused.error().what == errc::invalid_argument));
      BOOST_TEST(refused.error().message.find("digits") != std::string::npos);
    }
  }
  BOOST_TEST(!check(std::string("a\0b", 3), "idem_"));
  auto const long_schema = check(std::string(31, 's'), "");
  BOOST_REQUIRE(!long_schema);
  BOOST_TEST(long_schema.error().message.find("31") != std::string::npos);
  BOOST_TEST(!check("", std::string(17, 'p')));
}

BOOST_AUTO_TEST_CASE(rendering) {
  table_names const names{"s", "p_"};
  BOOST_TEST(idem::schema::render("{schema}.{prefix}t, {schema}{prefix}", names) == "s.p_t, sp_");
  BOOST_TEST(idem::schema::render("", names).empty());
  BOOST_TEST(idem::schema::render("{}{schem}{schema {Schema}", names) ==
             "{}{schem}{schema {Schema}");
  // What is filled in is not read again.
  BOOST_TEST(idem::schema::render("{schema}", {"{prefix}", "x"}) == "{prefix}");
}

BOOST_AUTO_TEST_CASE(printing_separates_statements) {
  auto const text = idem::schema::print(schema_dialect(), {"s", "p_"}).value();
  BOOST_TEST(text ==
             "-- 0001_first.sql\nCREATE TABLE s.p_records (\n  a;\n);\nCREATE VIEW v;\n"
             "-- 0002_second.sql\nALTER p_records;\n");
  BOOST_TEST(!idem::schema::print(schema_dialect(), {"s;", "p_"}));
}

BOOST_AUTO_TEST_CASE(the_newest_version) {
  BOOST_TEST(idem::schema::newest_version(schema_dialect()) == 2);
  BOOST_TEST(idem::schema::newest_version({}) == 0);
}

BOOST_AUTO_TEST_CASE(the_installed_version) {
  for (std::int64_t version : {0, 1, 2, 9}) {
    database db(version);
    BOOST_TEST(idem::schema::installed_version(db, {}).value() == version);
  }
  database empty(1);
  empty.answer = [](std::string_view sql) -> stub_session::rows_result {
    if (sql.starts_with("VERSION")) return rows{{{value()}}, 0};
    return database::one(1);
  };
  BOOST_TEST(idem::schema::installed_version(empty, {}).value() == 0);
  database broken(1);
  broken.answer = [](std::string_view) -> stub_session::rows_result {
    return std::unexpected(make_error(errc::connection_lost));
  };
  auto const failed = idem::schema::installed_version(broken, {});
  BOOST_REQUIRE(!failed);
  BOOST_TEST((failed.error().phase == idem::phase::schema));
}

BOOST_AUTO_TEST_CASE(installing_from_nothing) {
  database db(0);
  BOOST_TEST(idem::schema::install(db, {}).has_value());
  BOOST_TEST((db.done == texts{"CREATE TABLE main.idem_records (\n  a;\n)\n", "CREATE VIEW v\n",
                               "RECORD idem_", "ALTER idem_records\n", "RECORD idem_"}));
  BOOST_TEST(db.calls.back() == "commit");
}

BOOST_AUTO_TEST_CASE(installing_what_is_missing) {
  database db(1);
  BOOST_TEST(idem::schema::install(db, {}).has_value());
  BOOST_TEST((db.done == texts{"ALTER idem_records\n", "RECORD idem_"}));
}

BOOST_AUTO_TEST_CASE(installing_where_nothing_is_missing) {
  database db(2);
  BOOST_TEST(idem::schema::install(db, {}).has_value());
  BOOST_TEST(db.done.empty());
}

BOOST_AUTO_TEST_CASE(installing_over_a_newer_one) {
  database db(3);
  auto const refused = idem::schema::install(db, {});
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().what == errc::schema_newer));
  BOOST_TEST(db.done.empty());
  BOOST_TEST(db.calls.back() == "rollback");
}

BOOST_AUTO_TEST_CASE(a_statement_that_fails_undoes_all) {
  database db(0);
  db.failing = "ALTER idem_records\n";
  auto const failed = idem::schema::install(db, {});
  BOOST_REQUIRE(!failed);
  BOOST_TEST((failed.error().what == errc::permission_denied));
  BOOST_TEST((failed.error().phase == idem::phase::schema));
  BOOST_TEST(db.calls.back() == "rollback");
  BOOST_TEST(std::ranges::count(db.calls, "commit") == 0);
}

BOOST_AUTO_TEST_CASE(nothing_differs) {
  database db(2);
  db.add("idem_records", "scope", "BLOB", false, 1);
  db.add("idem_records", "body", "BLOB", true, 0);
  db.add("idem_schema_version", "version", "INTEGER", false, 1);
  BOOST_TEST(idem::schema::verify(db, {}).value().empty());
  db.add("idem_of_somebody_else", "x", "TEXT", true, 0);
  BOOST_TEST(idem::schema::verify(db, {}).value().empty());
}

BOOST_AUTO_TEST_CASE(each_difference_is_a_sentence) {
  database db(1);
  db.add("idem_records", "scope", "TEXT", true, 2);
  db.add("idem_records", "extra", "TEXT", true, 0);
  db.breaches = {{value("a trigger on idem_records")}};
  auto const found = idem::schema::verify(db, {}).value();
  auto const says = [&](std::string const& part) {
    auto const one = std::ranges::count_if(
        found, [&](auto const& text) { return text.find(part) != std::string::npos; });
    BOOST_TEST(one == 1, part);
  };
  BOOST_TEST(found.size() == 8);
  says("idem_records.scope has the type TEXT instead of BLOB");
  says("idem_records.scope accepts NULL");
  says("idem_records.scope has place 2");
  says("idem_records.body is missing");
  says("idem_records.extra does not belong");
  says("table idem_schema_version is missing");
  says("version 1 instead of 2");
  says("a trigger on idem_records");
}

BOOST_AUTO_TEST_CASE(a_store_opens_on_the_right_version_only) {
  auto const open = [](std::int64_t version) {
    database db(version);
    return idem::store::open(db);
  };
  BOOST_TEST(open(2).has_value());
  for (auto [version, what] :
       {std::pair{0, errc::schema_missing}, {1, errc::schema_invalid}, {3, errc::schema_newer}}) {
    auto const refused = open(version);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().what == what));
    BOOST_TEST((refused.error().phase == idem::phase::schema));
  }
}

BOOST_AUTO_TEST_SUITE_END()
