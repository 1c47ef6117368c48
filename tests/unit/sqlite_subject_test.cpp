// SPDX-License-Identifier: BSL-1.0
// What the suite's own SQLite subject does to the target it is given.
#include <idem/conformance/subject.h>
#include <idem/sqlite.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>
#include <thread>

#include "conformance/subjects/subjects.h"
#include "tests/support/sqlite_database.h"

namespace {

using namespace idem;       // NOLINT(google-build-using-namespace)
using namespace idem_test;  // NOLINT(google-build-using-namespace)

std::set<std::string> names_in(temporary_folder const& folder) {
  std::set<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename().string());
  return names;
}

std::string text_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sqlite_subject)

// With 5 to 8 ms between its questions SQLite has waited a second after 200 of them.
BOOST_AUTO_TEST_CASE(the_urls_busy_time_holds) {
  temporary_folder const folder;
  auto const file = folder / "x.db";
  auto const subject =
      conformance::make_subject("sqlite:" + file + "?journal=delete&busy_ms=600000").value();
  auto const waiter = subject->connect().value();
  auto const holder = open_sqlite("sqlite:" + file);
  run(*holder, "CREATE TABLE t (x INTEGER)");
  run(*holder, "BEGIN EXCLUSIVE");
  std::atomic<bool> done = false, answered = false;
  std::jthread const other([&] {
    statement const read{"SELECT count(*) FROM t", {}};
    answered = waiter->execute(std::span(&read, 1), {}).has_value();
    done = true;
  });
  while (!done && sqlite::busy_calls(*waiter) < 200) std::this_thread::yield();
  BOOST_TEST(!done, "still waiting");
  run(*holder, "ROLLBACK");
  while (!done) std::this_thread::yield();
  BOOST_TEST(answered);
}

BOOST_AUTO_TEST_CASE(what_wants_the_held_lock_waits_as_long_as_it_says) {
  temporary_folder const folder;
  auto const url = "sqlite:" + folder / "x.db" + "?busy_ms=86400000";
  auto const subject = conformance::make_subject(url).value();
  auto const holder = subject->connect().value();
  auto const s = subject->connect().value();
  BOOST_REQUIRE(subject->hold_lock(*holder));
  auto tx = transaction::begin(*s).value();
  auto const wanted = subject->want_lock(tx, std::chrono::milliseconds(20));
  BOOST_REQUIRE(!wanted);
  BOOST_TEST((wanted.error().what == errc::lock_timeout));
  BOOST_TEST(subject->release_lock(*holder).has_value());
}

BOOST_AUTO_TEST_CASE(nothing_is_left_beside_the_database_and_nothing_there_is_touched) {
  temporary_folder const folder;
  std::ofstream(folder / "x.db.second") << "somebody's";
  {
    auto const subject = conformance::make_subject("sqlite:" + folder / "x.db").value();
    auto const holder = subject->connect().value();
    BOOST_REQUIRE(subject->hold_lock(*holder));
    bool const named = std::ranges::any_of(names_in(folder), [](std::string const& name) {
      return name.starts_with("x.db.idem_conformance_scratch_");
    });
    BOOST_TEST(named);
    BOOST_REQUIRE(subject->release_lock(*holder));
  }
  BOOST_TEST((names_in(folder) == std::set<std::string>{"x.db", "x.db.second"}));
  BOOST_TEST(text_of(folder / "x.db.second") == "somebody's");
}

BOOST_AUTO_TEST_SUITE_END()
