// SPDX-License-Identifier: BSL-1.0
// The text that is sent, as files to be reviewed: a change of it shows in the diff.
// IDEM_WRITE_GOLDEN=1 writes them anew.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <idem/schema.h>
#include <idem/sqlite.h>

namespace {

using namespace idem;  // NOLINT(google-build-using-namespace)

void is_golden(std::string const& name, std::string const& text) {
  std::string const path = std::string(IDEM_TESTS_DIR) + "/golden/" + name;
  if (std::getenv("IDEM_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::string const golden{std::istreambuf_iterator<char>(file), {}};
  BOOST_TEST(text == golden, path << " differs: see what changed with IDEM_WRITE_GOLDEN=1");
}

std::string listed(std::initializer_list<std::pair<char const*, std::string_view>> statements) {
  table_names const names{"main", "idem_"};
  std::string out;
  for (auto const& [name, text] : statements)
    out.append("-- ").append(name).append("\n").append(schema::render(text, names)).append(";\n\n");
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sqlite_golden)

BOOST_AUTO_TEST_CASE(the_protocols_statements) {
  auto const& d = sqlite::dialect_value();
  is_golden("sqlite_statements.sql", listed({{"claim", d.sql.claim},
                                             {"find", d.sql.find},
                                             {"read_winner", d.sql.read_winner},
                                             {"save", d.sql.save},
                                             {"discard", d.sql.discard},
                                             {"savepoint", d.sql.savepoint},
                                             {"rollback_to_savepoint", d.sql.rollback_to_savepoint},
                                             {"release_savepoint", d.sql.release_savepoint}}));
}

BOOST_AUTO_TEST_CASE(the_schemas_statements) {
  auto const& d = sqlite::dialect_value().schema;
  is_golden("sqlite_schema_statements.sql",
            listed({{"version_table_exists", d.version_table_exists},
                    {"version", d.version},
                    {"record_version", d.record_version},
                    {"columns_found", d.columns_found},
                    {"breaches", d.breaches},
                    {"schema_exists", d.schema_exists}}));
}

BOOST_AUTO_TEST_CASE(the_ddl) {
  is_golden("sqlite_ddl.sql", schema::print(sqlite::dialect_value(), {}).value());
}

BOOST_AUTO_TEST_SUITE_END()
