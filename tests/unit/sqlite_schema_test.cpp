// SPDX-License-Identifier: BSL-1.0
// The tables, and the protocol's statements on them.
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>

#include <idem/schema.h>
#include <idem/sqlite.h>
#include <idem/store.h>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)

std::string const attempt(16, 'a');
std::string const other_attempt(16, 'b');
std::string const digest(32, 'd');

struct installed {
  std::unique_ptr<session> s = open_sqlite("sqlite::memory:");
  table_names const names{"main", "idem_"};

  installed() { BOOST_REQUIRE(schema::install(*s, {})); }

  std::string rendered(std::string_view text) const { return schema::render(text, names); }

  std::int64_t claim(std::string_view key, std::string_view by = attempt) const {
    return run(*s, rendered(s->sql().sql.claim),
               {blob_view{"acme"}, blob_view{"debit:v1"}, blob_view{key}, blob_view{by}, 1,
                blob_view{digest}, nullptr, 1700000000123456})
        .affected;
  }

  std::int64_t save(std::string_view key, parameter body, bool has_body) const {
    return run(*s, rendered(s->sql().sql.save),
               {1, 201, blob_view{"h"}, std::move(body), has_body, 3600000000, blob_view{"acme"},
                blob_view{"debit:v1"}, blob_view{key}, blob_view{attempt}, 1700000001000007})
        .affected;
  }

  std::int64_t discard(std::string_view key) const {
    return run(*s, rendered(s->sql().sql.discard),
               {blob_view{"acme"}, blob_view{"debit:v1"}, blob_view{key}, blob_view{attempt}})
        .affected;
  }

  rows find(std::string_view key) const {
    return run(*s, rendered(s->sql().sql.find),
               {blob_view{"acme"}, blob_view{"debit:v1"}, blob_view{key}});
  }

  std::string breach() const {
    auto found = schema::verify(*s, {});
    BOOST_REQUIRE(found);
    BOOST_REQUIRE_MESSAGE(found->size() == 1, "breaches: " << found->size());
    return found->front();
  }
};

value const& column(rows const& r, record_column c) { return r[0][static_cast<std::size_t>(c)]; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_schema, installed)

BOOST_AUTO_TEST_CASE(installs_verifies_and_installs_again) {
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(schema::installed_version(*s, {}).value() == 1);
    BOOST_TEST(schema::verify(*s, {}).value().empty());
    BOOST_REQUIRE(schema::install(*s, {}));
  }
  BOOST_TEST(raw(*s, schema::print(s->sql(), {}).value().c_str()) == SQLITE_OK);
  BOOST_TEST(schema::verify(*s, {}).value().empty());
}

BOOST_AUTO_TEST_CASE(a_claim_is_inserted_once_and_saved_once) {
  BOOST_TEST(claim("k") == 1);
  BOOST_TEST(claim("k", other_attempt) == 0);
  auto found = find("k");
  BOOST_REQUIRE(found.size() == 1U);
  BOOST_TEST(std::get<blob>(column(found, record_column::attempt)).bytes == attempt);
  BOOST_TEST(as_integer(column(found, record_column::state)) == 0);
  BOOST_TEST(as_integer(column(found, record_column::created_at_us)) == 1700000000123456);
  BOOST_TEST(is_null(column(found, record_column::completed_at_us)));
  BOOST_TEST(save("k", blob_view{"body"}, true) == 1);
  BOOST_TEST(save("k", blob_view{"body"}, true) == 0);
  BOOST_TEST(discard("k") == 0);
  found = find("k");
  BOOST_TEST(as_integer(column(found, record_column::state)) == 1);
  BOOST_TEST(as_integer(column(found, record_column::status)) == 201);
  BOOST_TEST(std::get<blob>(column(found, record_column::body)).bytes == "body");
  BOOST_TEST(as_integer(column(found, record_column::completed_at_us)) == 1700000001000007);
  BOOST_TEST(as_integer(column(found, record_column::expires_at_us)) == 1700003601000007);
}

BOOST_AUTO_TEST_CASE(no_body_and_an_empty_body_are_told_apart) {
  claim("none");
  claim("empty");
  BOOST_TEST(save("none", nullptr, false) == 1);
  BOOST_TEST(save("empty", blob_view{}, true) == 1);
  BOOST_TEST(is_null(column(find("none"), record_column::body)));
  BOOST_TEST(std::get<blob>(column(find("empty"), record_column::body)).bytes.empty());
}

BOOST_AUTO_TEST_CASE(a_claim_can_be_discarded_by_its_own_attempt) {
  claim("k", other_attempt);
  BOOST_TEST(discard("k") == 0);
  claim("mine");
  BOOST_TEST(discard("mine") == 1);
  BOOST_TEST(find("mine").empty());
}

BOOST_AUTO_TEST_CASE(keys_are_the_same_only_if_their_bytes_are) {
  std::array<std::string_view, 8> const keys{
      "a", "A", "a ", "\xc3\xa4", "a\xcc\x88", "\xef\xbd\x81", "1", std::string_view("a\0", 2)};
  for (auto const key : keys) BOOST_TEST(claim(key) == 1);
  for (auto const key : keys) BOOST_TEST(claim(key) == 0);
  BOOST_TEST(claim(std::string(255, 'k')) == 1);
}

BOOST_AUTO_TEST_CASE(the_table_refuses_what_no_claim_may_be) {
  auto const code = [this](std::initializer_list<parameter> p) {
    return run_error(*s, rendered(s->sql().sql.claim), p).native.code;
  };
  auto const fp = blob_view{digest};
  auto const by = blob_view{attempt};
  blob_view const ok{"x"};
  std::string const long_key(256, 'k');
  BOOST_TEST(code({ok, ok, blob_view{}, by, 1, fp, nullptr, 1}) == SQLITE_CONSTRAINT_CHECK);
  BOOST_TEST(code({ok, ok, blob_view{long_key}, by, 1, fp, nullptr, 1}) == SQLITE_CONSTRAINT_CHECK);
  BOOST_TEST(code({ok, ok, ok, ok, 1, fp, nullptr, 1}) == SQLITE_CONSTRAINT_CHECK);
  BOOST_TEST(code({ok, ok, ok, by, 0, fp, nullptr, 1}) == SQLITE_CONSTRAINT_CHECK);
  BOOST_TEST(code({ok, ok, ok, by, 1, ok, nullptr, 1}) == SQLITE_CONSTRAINT_CHECK);
  BOOST_TEST(code({ok, ok, nullptr, by, 1, fp, nullptr, 1}) == SQLITE_CONSTRAINT_NOTNULL);
  BOOST_TEST(code({ok, ok, "text", by, 1, fp, nullptr, 1}) == SQLITE_CONSTRAINT_DATATYPE);
  BOOST_TEST(code({ok, ok, 1, by, 1, fp, nullptr, 1}) == SQLITE_CONSTRAINT_DATATYPE);
  claim("k");
  auto const broken = "UPDATE idem_record SET state = 1";
  BOOST_TEST(run_error(*s, broken).native.code == SQLITE_CONSTRAINT_CHECK);
}

BOOST_AUTO_TEST_CASE(a_temporary_table_cannot_stand_in) {
  run(*s, "CREATE TEMP TABLE idem_record AS SELECT * FROM main.idem_record");
  BOOST_TEST(claim("k") == 1);
  BOOST_TEST(number(*s, "SELECT count(*) FROM main.idem_record") == 1);
  BOOST_TEST(find("k").size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_view_is_for_people) {
  claim("K\xc3\xb6ln");
  save("K\xc3\xb6ln", blob_view{"12345"}, true);
  auto const seen = run(*s,
                        "SELECT scope, operation, idem_key, attempt, state, response_status,"
                        " response_body_bytes, created_at, completed_at, expires_at"
                        " FROM idem_record_text");
  std::array<std::string_view, 10> const expected{"acme",
                                                  "debit:v1",
                                                  "K\xc3\xb6ln",
                                                  "61616161616161616161616161616161",
                                                  "completed",
                                                  "201",
                                                  "5",
                                                  "2023-11-14T22:13:20.123456Z",
                                                  "2023-11-14T22:13:21.000007Z",
                                                  "2023-11-14T23:13:21.000007Z"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    auto const& v = seen[0][i];
    auto const text =
        std::holds_alternative<std::int64_t>(v) ? std::to_string(as_integer(v)) : as_text(v);
    BOOST_TEST(text == expected[i]);
  }
  claim("open");
  BOOST_TEST(number(*s,
                    "SELECT completed_at IS NULL AND response_body_bytes IS NULL"
                    " FROM idem_record_text WHERE idem_key = 'open'") == 1);
}

BOOST_AUTO_TEST_CASE(verify_finds_what_only_sqlite_can_break) {
  run(*s, "CREATE TRIGGER spy AFTER INSERT ON idem_record BEGIN SELECT 1; END");
  BOOST_TEST(breach() == "idem_record has the trigger spy");
  run(*s, "DROP TRIGGER spy");
  run(*s,
      "CREATE TEMP TRIGGER spy BEFORE INSERT ON main.idem_record"
      " BEGIN SELECT RAISE(IGNORE); END");
  BOOST_TEST(claim("ignored") == 0);
  BOOST_TEST(breach() == "idem_record has the temporary trigger spy");
  run(*s, "DROP TRIGGER temp.spy");
  run(*s, "CREATE UNIQUE INDEX u ON idem_record (attempt)");
  BOOST_TEST(breach() == "idem_record has the unique index u");
  run(*s, "DROP INDEX u");
  run(*s, "CREATE INDEX i ON idem_record (created_at_us)");
  BOOST_TEST(schema::verify(*s, {}).value().empty());
  run(*s, "DROP TABLE idem_schema_version");
  run(*s,
      "CREATE TABLE idem_schema_version (version INTEGER NOT NULL PRIMARY KEY,"
      " installed_at_us INTEGER NOT NULL)");
  run(*s, "INSERT INTO idem_schema_version VALUES (1, 1)");
  BOOST_TEST(breach() == "idem_schema_version is not STRICT");
}

BOOST_AUTO_TEST_CASE(verify_finds_another_column_type_and_a_view_in_its_place) {
  auto const has = [this](std::string_view text) {
    auto const found = schema::verify(*s, {}).value();
    return std::ranges::any_of(found, [&](auto const& b) { return b.contains(text); });
  };
  run(*s, "ALTER TABLE idem_record ADD COLUMN extra TEXT");
  BOOST_TEST(has("extra"));
  run(*s, "DROP TABLE idem_record");
  BOOST_TEST(has("idem_record is missing"));
  run(*s, "CREATE TABLE idem_record (scope TEXT PRIMARY KEY) STRICT");
  BOOST_TEST(has("idem_record.scope has the type TEXT instead of BLOB"));
  BOOST_TEST(has("idem_record is not WITHOUT ROWID"));
  run(*s, "DROP TABLE idem_record");
  run(*s, "CREATE VIEW idem_record AS SELECT 1 AS scope");
  BOOST_TEST(has("idem_record is a view, not a table"));
}

BOOST_AUTO_TEST_CASE(case_of_names_does_not_matter) {
  BOOST_TEST(schema::verify(*s, {"MAIN", "IDEM_"}).value().empty());
  BOOST_TEST(schema::installed_version(*s, {"Main", "Idem_"}).value() == 1);
}

BOOST_AUTO_TEST_CASE(a_schema_that_is_not_there_is_named) {
  auto const missing = [](auto const& r) {
    BOOST_REQUIRE(!r);
    BOOST_TEST((r.error().what == errc::schema_missing));
    BOOST_TEST(r.error().message.contains("'nosuch' does not exist"));
    BOOST_TEST(r.error().message.contains("'main'"));
  };
  missing(schema::install(*s, {"nosuch", "idem_"}));
  missing(schema::installed_version(*s, {"nosuch", "idem_"}));
  missing(schema::verify(*s, {"nosuch", "idem_"}));
  missing(idem::store::open(*s, {.schema = "nosuch"}));
}

BOOST_AUTO_TEST_CASE(a_table_that_is_not_there_is_named) {
  auto const refused = idem::store::open(*s, {.prefix = "app_"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().what == errc::schema_missing));
  BOOST_TEST(refused.error().message.contains("main.app_schema_version"));
}

BOOST_AUTO_TEST_CASE(a_drifted_table_says_where_to_look) {
  auto const store = idem::store::open(*s).value();
  auto const asked = request::from_bytes({"s", "o", "k"}, "content").value();
  lone_session source(*s);
  auto const mistaken = [](transaction& tx) -> result<response> {
    auto failed = tx.execute("SELECT 1 FROM no_such_table");
    if (!failed) return std::unexpected(std::move(failed).error());
    return response{};
  };
  auto const of_effect = store.run(source, asked, mistaken);
  BOOST_REQUIRE(!of_effect);
  BOOST_TEST(!of_effect.error().message.contains("schema verify"));

  run(*s, "DROP VIEW idem_record_text");
  run(*s, "ALTER TABLE idem_record RENAME COLUMN state TO condition");
  auto const hints = [](auto const& r) {
    BOOST_REQUIRE(!r);
    BOOST_TEST((r.error().what == errc::statement_failed));
    BOOST_TEST(r.error().message.contains("idem schema verify"));
    BOOST_TEST(r.error().native.message.contains("column"));
  };
  hints(store.run(source, asked, mistaken));
  hints(store.find(*s, asked.identity()));
  hints(store.resolve(*s, asked, {}));
  hints(store.settle(*s, asked.identity(), settle_discard{}));
  auto tx = transaction::begin(*s).value();
  hints(store.claim(tx, asked));
}

BOOST_AUTO_TEST_CASE(lives_in_an_attached_file_under_any_name) {
  temporary_folder const folder;
  s = open_sqlite("sqlite:" + folder / "main.db");
  BOOST_REQUIRE(schema::install(*s, {}));
  run(*s, "ATTACH ?1 AS records", {folder / "records.db"});
  BOOST_REQUIRE(schema::install(*s, {"records", "app_"}));
  BOOST_TEST(schema::verify(*s, {"records", "app_"}).value().empty());
  auto const other = open_sqlite("sqlite:" + folder / "records.db");
  BOOST_TEST(schema::verify(*other, {"main", "app_"}).value().empty());
  BOOST_TEST(run(*other, "SELECT * FROM app_record_text").empty());
  run(*other, "CREATE TRIGGER spy AFTER INSERT ON app_record BEGIN SELECT 1; END");
  BOOST_TEST(schema::verify(*s, {"records", "app_"}).value().size() == 1U);
  BOOST_TEST(schema::verify(*s, {}).value().empty());
}

BOOST_AUTO_TEST_SUITE_END()
