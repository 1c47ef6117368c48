// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/postgresql.h>
#include <idem/schema.h>
#include <idem/store.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace idem_test {

/// The URL of the server for tests. Without one the test fails.
inline std::string postgresql_url() {
  char const* const given = std::getenv("IDEM_TEST_POSTGRESQL_15");
  BOOST_REQUIRE_MESSAGE(given != nullptr,
                        "set IDEM_TEST_POSTGRESQL_15 to the URL of a PostgreSQL for tests");
  return given;
}

template <class T>
T must(idem::result<T> r) {
  BOOST_REQUIRE_MESSAGE(r.has_value(), (r ? std::string() : describe(r.error())));
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// idem's tables and one of effects, in a schema of this process that goes with it.
struct postgresql_world {
  postgresql_world() {
    query("DROP SCHEMA IF EXISTS " + schema + " CASCADE");
    query("CREATE SCHEMA " + schema);
    must(idem::schema::install(*observer, {schema, "idem_"}));
    query("CREATE TABLE " + schema + ".effect (n bigint NOT NULL)");
  }
  ~postgresql_world() {
    std::string const sql = "DROP SCHEMA IF EXISTS " + schema + " CASCADE";
    idem::statement const one{sql, {}};
    (void)observer->execute(std::span(&one, 1), {});
  }
  postgresql_world(postgresql_world const&) = delete;
  postgresql_world& operator=(postgresql_world const&) = delete;

  static std::unique_ptr<idem::session> connect(std::string const& url) {
    return must(idem::postgresql::connect(must(idem::postgresql::parse_url(url))));
  }
  static idem::rows query_on(idem::session& s, std::string_view sql,
                             std::span<idem::parameter const> parameters = {}) {
    idem::statement const one{sql, parameters};
    auto answered = must(s.execute(std::span(&one, 1), {}));
    return std::move(answered.front());
  }
  idem::rows query(std::string_view sql) const { return query_on(*observer, sql); }
  std::int64_t effects() const {
    return as_integer(query("SELECT count(*) FROM " + schema + ".effect")[0][0]);
  }
  std::int64_t records() const {
    return as_integer(query("SELECT count(*) FROM " + schema + ".idem_record")[0][0]);
  }
  idem::store open(idem::session& s) const {
    return must(idem::store::open(s, {.schema = schema}));
  }
  idem::result<idem::response> write(idem::transaction& tx) const {
    auto written = tx.execute("INSERT INTO " + schema + ".effect (n) VALUES (?)", {1});
    if (!written) return std::unexpected(written.error());
    return idem::response{.status = 201, .body = "done"};
  }
  static idem::request request(std::string_view key, std::string_view content = "content") {
    return must(idem::request::from_bytes({"tests", "operation:v1", key}, content));
  }

  std::string const url = postgresql_url();
  std::string const schema = "idem_test_" + std::to_string(::getpid());
  std::unique_ptr<idem::session> const observer = connect(url);
};

}  // namespace idem_test
