// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/contract.h>
#include <idem/conformance/sql_subject.h>
#include <idem/sqlite.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "conformance/subjects/front_door.h"
#include "conformance/subjects/sqlite_handle.h"
#include "conformance/subjects/sqlite_settings.h"
#include "conformance/subjects/subjects.h"

namespace idem::inline v1::conformance {

namespace {

// clang-format off
constexpr std::array<std::string_view, 8> create{
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}ledger (seq INTEGER PRIMARY KEY, tag TEXT NOT NULL, nonce TEXT NOT NULL, worker INTEGER NOT NULL, amount INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}balance (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}taken (id INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}parent (id INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}child (parent INTEGER NOT NULL REFERENCES {prefix}parent (id) DEFERRABLE INITIALLY DEFERRED) STRICT",
    "CREATE TABLE IF NOT EXISTS {schema}.{prefix}hidden (scope BLOB NOT NULL, operation BLOB NOT NULL, idem_key BLOB NOT NULL) STRICT",
    "INSERT INTO {schema}.{prefix}balance (id, amount) VALUES (1, 0) ON CONFLICT (id) DO NOTHING",
    "INSERT INTO {schema}.{prefix}taken (id) VALUES (1) ON CONFLICT (id) DO NOTHING"};
constexpr std::array<std::string_view, 6> clear{
    "DROP TRIGGER IF EXISTS {schema}.{prefix}hide",
    "DELETE FROM {schema}.{prefix}hidden",
    "DELETE FROM {schema}.{prefix}child",
    "DELETE FROM {schema}.{prefix}ledger",
    "DELETE FROM {schema}.{prefix}record",
    "UPDATE {schema}.{prefix}balance SET amount = 0"};
// RAISE(IGNORE) drops the insert without an error: a conflict with no row to see.
constexpr std::array<std::string_view, 3> hide{
    "DELETE FROM {schema}.{prefix}hidden",
    "CREATE TRIGGER IF NOT EXISTS {schema}.{prefix}hide BEFORE INSERT ON {prefix}record WHEN EXISTS (SELECT 1 FROM {prefix}hidden AS h WHERE h.scope = NEW.scope AND h.operation = NEW.operation AND h.idem_key = NEW.idem_key) BEGIN SELECT RAISE(IGNORE); END",
    "INSERT INTO {schema}.{prefix}hidden (scope, operation, idem_key) VALUES (?1, ?2, ?3)"};
constexpr std::array<std::string_view, 2> unhide{
    "DROP TRIGGER IF EXISTS {schema}.{prefix}hide",
    "DELETE FROM {schema}.{prefix}hidden"};
constexpr std::array<std::string_view, 3> insert_null_key{
    "INSERT INTO {schema}.{prefix}record (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, state, response_status, response_headers, has_body, created_at_us) VALUES (NULL, x'61', x'62', zeroblob(16), 1, zeroblob(32), 0, 0, x'', 0, 0)",
    "INSERT INTO {schema}.{prefix}record (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, state, response_status, response_headers, has_body, created_at_us) VALUES (x'61', NULL, x'62', zeroblob(16), 1, zeroblob(32), 0, 0, x'', 0, 0)",
    "INSERT INTO {schema}.{prefix}record (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, state, response_status, response_headers, has_body, created_at_us) VALUES (x'61', x'62', NULL, zeroblob(16), 1, zeroblob(32), 0, 0, x'', 0, 0)"};
constexpr subject_statements sqlite_statements{
    .create = create,
    .clear = clear,
    .append = "INSERT INTO {schema}.{prefix}ledger (tag, nonce, worker, amount) VALUES (?, ?, ?, ?)",
    .add = "UPDATE {schema}.{prefix}balance SET amount = amount + ? WHERE id = 1",
    .ledger = "SELECT tag, nonce, worker, amount FROM {schema}.{prefix}ledger ORDER BY seq",
    .balance = "SELECT amount FROM {schema}.{prefix}balance WHERE id = 1",
    .record_row = "SELECT * FROM {schema}.{prefix}record WHERE scope = ? AND operation = ? AND idem_key = ?",
    .record_count = "SELECT count(*) FROM {schema}.{prefix}record",
    .delete_record = "DELETE FROM {schema}.{prefix}record WHERE scope = ? AND operation = ? AND idem_key = ?",
    .break_constraint = "INSERT INTO {schema}.{prefix}taken (id) VALUES (1)",
    .break_transaction = "INSERT OR ROLLBACK INTO {schema}.{prefix}taken (id) VALUES (1)",
    .break_at_commit = "INSERT INTO {schema}.{prefix}child (parent) VALUES (42)",
    .commit = "COMMIT",
    .rollback = "ROLLBACK",
    .begin = "BEGIN IMMEDIATE",
    .collapses = "SELECT CAST(?1 AS TEXT) = CAST(?2 AS TEXT) COLLATE NOCASE",
    .insert_null_key = insert_null_key,
    .hide = hide,
    .unhide = unhide,
    .isolation = detail::isolation_on_sqlite,
    .settings = detail::sqlite_settings,
    .widen = detail::widen_on_sqlite,
    .narrow = detail::narrow_on_sqlite,
    .read_altered = "SELECT * FROM {schema}.{prefix}altered"};
// clang-format on

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> fact_queries{{
    {"version", "SELECT sqlite_version()"},
    {"build", "SELECT sqlite_source_id()"},
    {"encoding", "PRAGMA encoding"},
    {"journal_mode", "PRAGMA journal_mode"},
    {"synchronous", "PRAGMA synchronous"},
    {"foreign_keys", "PRAGMA foreign_keys"},
    {"page_size", "PRAGMA page_size"},
    {"threadsafe",
     "SELECT compile_options FROM pragma_compile_options WHERE compile_options LIKE "
     "'THREADSAFE=%'"},
    {"schema",
     "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM main.sqlite_schema WHERE tbl_name "
     "IN ('idem_conformance_record', 'idem_conformance_schema_version') ORDER BY name)"},
}};

result<> unsupported(std::string_view what) {
  error e;
  e.what = errc::unsupported;
  e.message = what;
  return std::unexpected(std::move(e));
}

// How long this thread's statements wait for a lock while one of them wants the held one. What
// the URL says (busy_ms) holds for everything else.
thread_local std::optional<std::chrono::milliseconds> short_wait;

class short_waits {
 public:
  explicit short_waits(std::chrono::milliseconds wait) { short_wait = wait; }
  short_waits(short_waits const&) = delete;
  short_waits& operator=(short_waits const&) = delete;
  ~short_waits() { short_wait.reset(); }
};

// A statement of an effect brings no limit of its own, and no pragma sets one: the session puts
// its busy handler in place at every call.
class subject_session final : public session_decorator {
 public:
  using session_decorator::session_decorator;
  result<std::vector<rows>> execute(std::span<statement const> all,
                                    call_limits const& limits) override {
    if (!short_wait || limits.wait_limit) return real().execute(all, limits);
    call_limits shortened = limits;
    shortened.wait_limit = short_wait;
    return real().execute(all, shortened);
  }
};

// A file of our own beside the database, made new so that it is nobody else's, and removed with
// whatever SQLite puts beside it.
class scratch_file {
 public:
  scratch_file() = default;
  scratch_file(scratch_file const&) = delete;
  scratch_file& operator=(scratch_file const&) = delete;
  ~scratch_file() {
    if (path_.empty()) return;
    for (auto const* suffix : {"", "-journal", "-wal", "-shm"}) unlink((path_ + suffix).c_str());
  }

  // Thread-safe.
  result<std::string> path(std::string const& beside) {
    std::scoped_lock const lock(mutex_);
    if (!path_.empty()) return path_;
    std::string wanted = beside + ".idem_conformance_scratch_XXXXXX";
    int const file = mkstemp(wanted.data());
    if (file < 0) {
      error e;
      e.what = errc::permission_denied;
      e.phase = phase::connect;
      e.message = "no scratch file can be made beside '" + beside +
                  "': " + std::generic_category().message(errno);
      return std::unexpected(std::move(e));
    }
    close(file);
    path_ = std::move(wanted);
    return path_;
  }

 private:
  std::mutex mutex_;
  std::string path_;
};

class sqlite_subject final : public sql_subject {
 public:
  sqlite_subject(std::string url, sqlite::options options)
      : sql_subject(sqlite_statements),
        url_(std::move(url)),
        door_(front_door_of(url_)),
        options_(std::move(options)) {
    options_.foreign_keys = sqlite::setting::on;  // a deferred constraint needs it
  }

  /// A database in memory is gone with its last connection: one is kept.
  result<> keep_memory() {
    if (!options_.path.empty()) return {};
    auto opened = connect();
    if (!opened) return std::unexpected(std::move(opened).error());
    keeper_ = std::move(*opened);
    return {};
  }

  std::string name() const override { return door_ == front_door::soci ? "sqlite+soci" : "sqlite"; }
  std::string target() const override { return url_; }
  std::set<capability> declared() const override {
    std::set<capability> all{capability::deferred_constraint,
                             capability::statement_can_end_transaction, capability::text_collation,
                             capability::alter_table, capability::unread_results};
    // Other processes and a second file need a file.
    if (!options_.path.empty()) all.insert(capability::processes);
    if (!options_.path.empty()) all.insert(capability::lock_wait_in_effect);
    return all;
  }

  result<std::vector<fact>> facts() override {
    auto s = connect();
    if (!s) return std::unexpected(std::move(s).error());
    std::vector<fact> all{{"engine", "SQLite"}, {"driver", driver_by(door_, "SQLite C API")}};
    for (auto const& [name, sql] : fact_queries) {
      auto answered = query(**s, sql);
      if (!answered) return std::unexpected(std::move(answered).error());
      all.push_back({std::string(name), text_of(answered->values)});
    }
    return all;
  }

  result<std::unique_ptr<session>> connect() override {
    auto opened = open_by(door_, options_);
    if (!opened) return opened;
    return std::make_unique<subject_session>(std::move(*opened));
  }

  // SQLite numbers no connection: process and handle name it.
  result<std::string> session_id(session& s) override {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%d/%p", static_cast<int>(getpid()),
                  static_cast<void*>(sqlite::handle(s)));
    return std::string(text.data());
  }

  // As long as its process lives: nobody else closes it.
  result<bool> has_session(std::string const& id) override {
    return ::kill(static_cast<pid_t>(std::atoi(id.c_str())), 0) == 0;
  }

  result<> watch_writes(std::function<void()> tell) override {
    if (detail::watch_sqlite_writes(std::move(tell))) return {};
    error e;
    e.what = errc::configuration;
    e.message = "this SQLite does not let its system calls be watched";
    return std::unexpected(std::move(e));
  }

  bool waiting(session& s) override { return sqlite::waiting(s); }

  // Nor does it number transactions: that there is one is all it tells.
  result<std::string> transaction_id(session& s) override {
    return std::string(sqlite::in_transaction(s) ? "open" : "");
  }

  result<> restart() override { return unsupported("SQLite is no server: nothing to restart"); }

  result<> hold_lock(session& holder) override {
    if (auto attached = attach(holder); !attached) return attached;
    for (auto const sql : {"CREATE TABLE IF NOT EXISTS second.contended (id INTEGER PRIMARY KEY)",
                           "BEGIN", "INSERT INTO second.contended DEFAULT VALUES"})
      if (auto ran = query(holder, sql); !ran) return std::unexpected(std::move(ran).error());
    return {};
  }

  result<> release_lock(session& holder) override {
    for (auto const sql : {"ROLLBACK", "DETACH second"})
      if (auto ran = query(holder, sql); !ran) return std::unexpected(std::move(ran).error());
    return {};
  }

  // BEGIN IMMEDIATE locks every attached file, so the second one is attached inside the effect,
  // and detached after a time-out; once written to it cannot be before the transaction ends.
  // https://sqlite.org/lang_attach.html
  result<> want_lock(transaction& tx, std::chrono::milliseconds wait) override {
    short_waits const waits(wait);
    auto& s = tx.session();
    if (auto attached = attach(s); !attached) return attached;
    auto wanted = tx.execute("INSERT INTO second.contended DEFAULT VALUES");
    if (wanted) return {};
    if (auto detached = query(s, "DETACH second"); !detached)
      return std::unexpected(std::move(detached).error());
    return std::unexpected(std::move(wanted).error());
  }

  // A database in memory is never synced, and its level is left alone.
  std::vector<session_setting> settings() const override {
    auto all = sql_subject::settings();
    for (auto& one : all)
      if (one.name == "synchronous" && options_.path.empty()) one.restored = false;
    return all;
  }

  std::vector<isolation_level> levels() const override {
    return {{isolation::serializable, "serializable"}};
  }

  result<> leave_unread(session& s) override {
    std::scoped_lock const lock(mutex_);
    if (unread_.leave(sqlite::handle(s))) return {};
    return unsupported("SQLite gives no row");
  }

 protected:
  result<> write_statement(transaction& tx, std::string const& sql,
                           std::span<parameter const> parameters) const override {
    return write_by(door_, tx, sql, parameters);
  }

 private:
  static std::string text_of(std::vector<std::vector<value>> const& values) {
    if (values.empty() || values[0].empty()) return "";
    if (auto const* n = std::get_if<std::int64_t>(&values[0][0])) return std::to_string(*n);
    return is_null(values[0][0]) ? "" : as_text(values[0][0]);
  }

  result<> attach(session& s) {
    auto there = query(s, "SELECT 1 FROM pragma_database_list WHERE name = 'second'");
    if (!there) return std::unexpected(std::move(there).error());
    if (!there->empty()) return {};
    auto const second = scratch_.path(options_.path);
    if (!second) return std::unexpected(second.error());
    std::array<parameter, 1> const path{*second};
    auto attached = query(s, "ATTACH DATABASE ?1 AS second", path);
    if (!attached) return std::unexpected(std::move(attached).error());
    return {};
  }

  std::string url_;
  front_door door_;
  sqlite::options options_;
  std::unique_ptr<session> keeper_;
  std::mutex mutex_;
  detail::unread_statements unread_;  // outlive their sessions
  scratch_file scratch_;
};

}  // namespace

result<std::unique_ptr<subject>> make_sqlite_subject(std::string_view url) {
  auto options = sqlite::parse_url(without_front_door(url));
  if (!options) return std::unexpected(std::move(options).error());
  auto subject = std::make_unique<sqlite_subject>(std::string(url), std::move(*options));
  if (auto kept = subject->keep_memory(); !kept) return std::unexpected(std::move(kept).error());
  return subject;
}

}  // namespace idem::inline v1::conformance
