// SPDX-License-Identifier: BSL-1.0
// URLs, options, and files that cannot be used.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <idem/sqlite.h>

#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)

/// Rights do not bind root: act as another user meanwhile.
struct without_rights {
  bool const was_root = geteuid() == 0;
  without_rights() {
    if (was_root) BOOST_REQUIRE(seteuid(65534) == 0);
  }
  ~without_rights() {
    if (was_root) BOOST_REQUIRE(seteuid(0) == 0);
  }
};

struct fixture {
  temporary_folder folder;
  fixture() { chmod(folder.path().c_str(), 0755); }

  void write(char const* name, std::string_view text) const {
    std::ofstream(folder / name) << text;
  }

  void fails(std::string const& name_and_options, errc what, std::string_view says) const {
    auto const options = sqlite::parse_url("sqlite:" + folder / name_and_options);
    BOOST_REQUIRE(options);
    auto const opened = sqlite::connect(*options);
    BOOST_REQUIRE_MESSAGE(!opened, name_and_options);
    auto const& e = opened.error();
    BOOST_TEST(to_string(e.what) == to_string(what), name_and_options << ": " << e.message);
    BOOST_TEST((e.certainty == certainty::not_executed));
    BOOST_TEST(e.message.contains(says), e.message);
    BOOST_TEST(!e.message.contains('\n'));
  }
};

void url_is(std::string const& url, sqlite::options const& expected) {
  auto const parsed = sqlite::parse_url(url);
  BOOST_REQUIRE_MESSAGE(parsed, url);
  BOOST_TEST((*parsed == expected), url);
}

void url_is_refused(std::string const& url, std::string_view says) {
  auto const parsed = sqlite::parse_url(url);
  BOOST_REQUIRE_MESSAGE(!parsed, url);
  BOOST_TEST((parsed.error().what == errc::configuration));
  BOOST_TEST(parsed.error().message.contains(says), url << ": " << parsed.error().message);
}

sqlite::options at(std::string path) {
  sqlite::options o;
  o.path = std::move(path);
  return o;
}

std::string text(session& s, std::string_view sql) { return as_text(run(s, sql)[0][0]); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_open, fixture)

BOOST_AUTO_TEST_CASE(reads_urls) {
  url_is("sqlite:/a/b.db", at("/a/b.db"));
  url_is("sqlite:///a/b.db", at("/a/b.db"));
  url_is("sqlite:a%20b%3F.db", at("a b?.db"));
  url_is("sqlite:file:x", at("file:x"));
  auto all = at("x");
  all.mode = sqlite::open_mode::read_only;
  all.journal = sqlite::journal::wal;
  all.synchronous = sqlite::durability::extra;
  all.foreign_keys = sqlite::setting::on;
  all.busy = std::chrono::milliseconds(0);
  url_is("sqlite:x?mode=ro&journal=wal&synchronous=extra&foreign_keys=on&busy_ms=0", all);
  sqlite::options memory;
  memory.memory_name = "shared-1";
  url_is("sqlite::memory:?name=shared-1", memory);
  BOOST_TEST(sqlite::parse_url("sqlite::memory:")->memory_name !=
             sqlite::parse_url("sqlite::memory:")->memory_name);
}

BOOST_AUTO_TEST_CASE(refuses_urls_and_says_what_may_be_written) {
  url_is_refused("postgresql:x", "sqlite:");
  url_is_refused("sqlite+odbc:x", "sqlite:");
  url_is_refused("sqlite:", "path");
  url_is_refused("sqlite://host/x.db", "host");
  url_is_refused("sqlite:a%00b", "NUL");
  url_is_refused("sqlite:x?jurnal=wal", "it takes mode, journal");
  url_is_refused("sqlite:x?journal=memory", "keep, wal, delete");
  url_is_refused("sqlite:x?synchronous=2", "keep, off, normal, full, extra");
  url_is_refused("sqlite:x?mode=rwc", "create, rw, ro");
  url_is_refused("sqlite:x?foreign_keys=1", "keep, off, on");
  url_is_refused("sqlite:x?name=y", "no option 'name'");
  for (auto const* ms : {"", "-1", "1.5", "86400001", "99999999999999999999", "5s"})
    url_is_refused("sqlite:x?busy_ms=" + std::string(ms), "milliseconds");
  url_is_refused("sqlite::memory:?name=", "path");
  url_is_refused("sqlite::memory:?name=a/b", "letters");
  url_is_refused("sqlite::memory:?mode=ro", "in memory");
  url_is_refused("sqlite::memory:?journal=wal", "in memory");
}

BOOST_AUTO_TEST_CASE(options_by_hand_are_checked_too) {
  auto const refused = [](sqlite::options const& o) {
    auto const opened = sqlite::connect(o);
    return !opened && opened.error().what == errc::configuration;
  };
  BOOST_TEST(refused({}));
  auto both = at("x");
  both.memory_name = "y";
  BOOST_TEST(refused(both));
  auto negative = at("x");
  negative.busy = std::chrono::milliseconds(-1);
  BOOST_TEST(refused(negative));
}

BOOST_AUTO_TEST_CASE(makes_a_missing_file_unless_told_not_to) {
  fails("a.db?mode=rw", errc::connection_failed, "does not exist");
  fails("a.db?mode=ro", errc::connection_failed, "does not exist");
  BOOST_TEST(!std::filesystem::exists(folder / "a.db"));
  open_sqlite("sqlite:" + folder / "a.db");
  BOOST_TEST(std::filesystem::exists(folder / "a.db"));
  open_sqlite("sqlite:" + folder / "a.db" + "?mode=rw");
}

BOOST_AUTO_TEST_CASE(a_path_has_no_special_meaning) {
  auto const before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (auto const* name : {":memory:", "file:x.db?mode=memory", "~", "a b"}) {
    auto opened = sqlite::connect(at(name));
    BOOST_TEST(opened.has_value(), name);
    BOOST_TEST(std::filesystem::exists(folder / name), name);
  }
  std::filesystem::current_path(before);
}

BOOST_AUTO_TEST_CASE(says_why_a_file_cannot_be_used) {
  std::filesystem::create_directory(folder / "folder");
  fails("folder", errc::connection_failed, "is a folder");
  fails("nowhere/a.db", errc::connection_failed, "does not exist: make it first");
  write("text",
        "this is not a database, and it is longer than the header of one, which is 100 "
        "bytes, so that SQLite looks at it");
  fails("text", errc::corrupt, "is not an SQLite database");
  fails("text/a.db", errc::connection_failed, "does not exist: make it first");
  write("empty", "");
  open_sqlite("sqlite:" + folder / "empty");
}

BOOST_AUTO_TEST_CASE(says_that_a_file_is_damaged) {
  run(*open_sqlite("sqlite:" + folder / "a.db"), "CREATE TABLE t (x)");
  std::filesystem::resize_file(folder / "a.db", 3000);
  fails("a.db", errc::corrupt, "damaged");
}

BOOST_AUTO_TEST_CASE(says_which_right_is_missing) {
  run(*open_sqlite("sqlite:" + folder / "a.db"), "CREATE TABLE t (x)");
  std::filesystem::create_directory(folder / "closed");
  chmod((folder / "closed").c_str(), 0700);
  without_rights const unprivileged;
  chmod((folder / "a.db").c_str(), 0444);
  fails("a.db", errc::read_only, "no right to write");
  fails("new.db", errc::permission_denied, "no right to make a file");
  fails("closed/a.db", errc::permission_denied, "no right to open");
  BOOST_TEST(number(*open_sqlite("sqlite:" + folder / "a.db" + "?mode=ro"),
                    "SELECT count(*) FROM t") == 0);
}

BOOST_AUTO_TEST_CASE(a_database_opened_for_reading_refuses_to_begin_writing) {
  run(*open_sqlite("sqlite:" + folder / "a.db"), "CREATE TABLE t (x)");
  auto const s = open_sqlite("sqlite:" + folder / "a.db" + "?mode=ro");
  auto const begun = s->begin({});
  BOOST_REQUIRE(!begun);
  BOOST_TEST((begun.error().what == errc::read_only));
  BOOST_TEST((s->status().value() == transaction_status::idle));
  begin_options o;
  o.read_only = true;
  BOOST_REQUIRE(s->begin(o));
  BOOST_TEST((run_error(*s, "INSERT INTO t VALUES (1)").what == errc::read_only));
}

BOOST_AUTO_TEST_CASE(a_locked_file_is_waited_for) {
  auto const holder = open_sqlite("sqlite:" + folder / "a.db");
  run(*holder, "CREATE TABLE t (x)");
  BOOST_TEST(raw(*holder, "BEGIN EXCLUSIVE") == SQLITE_OK);
  fails("a.db?busy_ms=20", errc::lock_timeout, "locked by another connection");
  auto const options = sqlite::parse_url("sqlite:" + folder / "a.db");
  auto const opened = sqlite::connect(*options, wait_at_most(std::chrono::milliseconds(0)));
  BOOST_REQUIRE(!opened);
  BOOST_TEST((opened.error().what == errc::lock_timeout));
}

BOOST_AUTO_TEST_CASE(sets_what_the_options_say) {
  auto s =
      open_sqlite("sqlite:" + folder / "a.db" + "?journal=wal&synchronous=normal&foreign_keys=on");
  BOOST_TEST(text(*s, "PRAGMA journal_mode") == "wal");
  BOOST_TEST(number(*s, "SELECT * FROM pragma_synchronous") == 1);
  BOOST_TEST(number(*s, "SELECT * FROM pragma_foreign_keys") == 1);
  BOOST_TEST(raw(*s, "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF") == SQLITE_OK);
  BOOST_REQUIRE(s->reset());
  BOOST_TEST(number(*s, "SELECT * FROM pragma_synchronous") == 1);
  BOOST_TEST(number(*s, "SELECT * FROM pragma_foreign_keys") == 1);
  s.reset();
  s = open_sqlite("sqlite:" + folder / "a.db");
  BOOST_TEST(text(*s, "PRAGMA journal_mode") == "wal");  // it stays with the file
  s.reset();
  s = open_sqlite("sqlite:" + folder / "a.db" + "?journal=delete");
  BOOST_TEST(text(*s, "PRAGMA journal_mode") == "delete");
}

BOOST_AUTO_TEST_CASE(a_journal_mode_that_is_not_taken_is_an_error) {
  run(*open_sqlite("sqlite:" + folder / "a.db"), "CREATE TABLE t (x)");
  fails("a.db?mode=ro&journal=wal", errc::read_only, "");
  open_sqlite("sqlite:" + folder / "a.db" + "?journal=wal");
  auto const user = open_sqlite("sqlite:" + folder / "a.db");
  BOOST_TEST(number(*user, "SELECT count(*) FROM t") == 0);
  fails("a.db?journal=delete&busy_ms=10", errc::lock_timeout, "locked");
}

BOOST_AUTO_TEST_CASE(many_may_change_the_journal_mode_at_once) {
  std::atomic<int> failed{0};
  for (int round = 0; round < 10; ++round) {
    auto const options = sqlite::parse_url("sqlite:" + folder / std::to_string(round) +
                                           "?journal=wal&busy_ms=30000");
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        if (!sqlite::connect(*options)) ++failed;
      });
    for (auto& t : threads) t.join();
  }
  BOOST_TEST(failed == 0);
}

BOOST_AUTO_TEST_CASE(a_pool_says_early_what_is_wrong) {
  auto const pool = sqlite::open_pool("sqlite:" + folder / "nowhere/a.db");
  BOOST_REQUIRE(!pool);
  BOOST_TEST((pool.error().what == errc::connection_failed));
  BOOST_TEST((sqlite::open_pool("sqlite:x?y=z").error().what == errc::configuration));
}

BOOST_AUTO_TEST_SUITE_END()
