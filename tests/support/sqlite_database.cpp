// SPDX-License-Identifier: BSL-1.0
#include "tests/support/sqlite_database.h"

#include <sqlite3.h>

#include <boost/test/unit_test.hpp>

namespace idem_test {

using namespace idem;  // NOLINT(google-build-using-namespace)

namespace {

template <class T>
std::string why(result<T> const& r) {
  return r ? "" : describe(r.error()) + " " + r.error().native.message;
}

}  // namespace

temporary_folder::temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "idem-XXXXXX").string();
  BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::unique_ptr<session> open_sqlite(std::string const& url) {
  auto options = sqlite::parse_url(url);
  BOOST_REQUIRE_MESSAGE(options, url << ": " << why(options));
  auto opened = sqlite::connect(*options);
  BOOST_REQUIRE_MESSAGE(opened, url << ": " << why(opened));
  return std::move(*opened);
}

int raw(session& s, char const* sql) {
  auto* db = sqlite::handle(s);
  int const rc = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
  return rc == SQLITE_OK ? rc : sqlite3_extended_errcode(db);
}

rows run(session& s, std::string_view sql, std::initializer_list<parameter> parameters) {
  statement const one{sql, {parameters.begin(), parameters.size()}};
  auto answered = s.execute({&one, 1}, {});
  BOOST_REQUIRE_MESSAGE(answered, sql << ": " << why(answered));
  return std::move(answered->front());
}

error run_error(session& s, std::string_view sql, std::initializer_list<parameter> parameters) {
  statement const one{sql, {parameters.begin(), parameters.size()}};
  auto answered = s.execute({&one, 1}, {});
  BOOST_REQUIRE_MESSAGE(!answered, sql << " did not fail");
  return std::move(answered).error();
}

std::int64_t number(session& s, std::string_view sql) { return as_integer(run(s, sql)[0][0]); }

call_limits wait_at_most(std::chrono::milliseconds limit) {
  call_limits limits;
  limits.wait_limit = limit;
  return limits;
}

begin_options begin_waiting(std::chrono::milliseconds limit) {
  begin_options options;
  options.limits = wait_at_most(limit);
  return options;
}

}  // namespace idem_test
