// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/contract.h>
#include <idem/conformance/sql_subject.h>
#include <idem/postgresql.h>
#include <idem/url.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "conformance/subjects/front_door.h"
#include "conformance/subjects/postgresql_databases.h"
#include "conformance/subjects/postgresql_handle.h"
#include "conformance/subjects/postgresql_statements.h"
#include "conformance/subjects/subjects.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::array<std::string_view, 12> reported_settings{
    "server_version",
    "server_encoding",
    "lc_messages",
    "TimeZone",
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "default_transaction_isolation",
    "lock_timeout",
    "statement_timeout",
    "idle_in_transaction_session_timeout",
    "standard_conforming_strings",
};

constexpr std::string_view setting_sql = "SELECT current_setting(?)";
constexpr std::string_view build_sql = "SELECT version()";
constexpr std::string_view schema_sql =
    "SELECT string_agg(c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, "
    "a.atttypmod),"
    " ', ' ORDER BY c.relname, a.attnum) FROM pg_catalog.pg_class AS c"
    " JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
    " WHERE c.oid IN ('{schema}.{prefix}record'::regclass,"
    " '{schema}.{prefix}schema_version'::regclass)";
constexpr std::string_view process_sql = "SELECT pg_backend_pid()";
constexpr std::string_view waiting_sql =
    "SELECT 1 FROM pg_catalog.pg_locks WHERE pid = ? AND NOT granted";
constexpr std::string_view transaction_sql = "SELECT pg_current_xact_id_if_assigned()::text";
constexpr std::string_view take_lock_sql =
    "SELECT amount FROM {schema}.{prefix}contended WHERE id = 1 FOR UPDATE";
constexpr std::string_view wait_sql = "SELECT set_config('lock_timeout', ?, true)";
constexpr std::string_view terminate_sql = "SELECT pg_terminate_backend(?)";
constexpr std::string_view is_there_sql = "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE pid = ?";
constexpr std::string_view named_locks_sql =
    "SELECT count(*) FROM pg_catalog.pg_locks WHERE pid = ? AND locktype = 'advisory' AND granted";
constexpr std::string_view hold_schema_sql =
    "LOCK TABLE {schema}.{prefix}schema_version IN ACCESS EXCLUSIVE MODE";
constexpr std::string_view read_skew_sql = "SELECT amount FROM {schema}.{prefix}skew WHERE id = ?";
constexpr std::string_view write_skew_sql =
    "UPDATE {schema}.{prefix}skew SET amount = amount + 1 WHERE id = ?";

std::unexpected<error> failed(errc what, std::string_view message) {
  error e;
  e.what = what;
  e.message = message;
  return std::unexpected(std::move(e));
}

class postgresql_subject : public sql_subject {
 public:
  postgresql_subject(std::string url, std::string target, front_door door,
                     postgresql::options options)
      : sql_subject(detail::postgresql_statements),
        url_(std::move(url)),
        target_(std::move(target)),
        door_(door),
        options_(std::move(options)) {}

  std::string name() const override { return name_by(door_, "postgresql"); }
  std::string target() const override { return target_; }
  std::string worker_target() const override { return url_; }
  std::set<capability> declared() const override {
    std::set<capability> all{capability::processes,
                             capability::wire,
                             capability::concurrent_writers,
                             capability::wait_names_identity,
                             capability::deadlock,
                             capability::deferred_constraint,
                             capability::lock_wait_in_effect,
                             capability::text_collation,
                             capability::statement_can_end_transaction,
                             capability::snapshot,
                             capability::commit_conflict,
                             capability::named_locks,
                             capability::kill_session,
                             capability::alter_table,
                             capability::unread_results};
    if (makes_databases()) all.insert(capability::other_collation);
    return all;
  }

  result<std::unique_ptr<session>> occupy() override {
    auto s = postgresql::connect(options_);
    if (!s) return s;
    if (auto begun = (*s)->begin({}); !begun) return std::unexpected(std::move(begun).error());
    auto taken = query(**s, detail::postgresql_occupy);
    if (!taken) return std::unexpected(std::move(taken).error());
    if (as_integer((*taken)[0][0]) == 1) return s;
    auto who = query(**s, detail::postgresql_occupier);
    if (!who) return std::unexpected(std::move(who).error());
    std::string text = "another run of the suite is at work on this database";
    if (!who->empty())
      text += " since " + as_text((*who)[0][0]) + " (" + as_text((*who)[0][1]) + ")";
    return failed(errc::resource_exhausted,
                  text + ": wait for its end, or give this one a database of its own");
  }

  result<std::vector<fact>> facts() override {
    auto s = connect();
    if (!s) return std::unexpected(std::move(s).error());
    std::vector<fact> all{{"engine", "PostgreSQL"},
                          {"driver", driver_by(door_, postgresql::driver_version())}};
    auto const add = [&](std::string_view name, std::string_view sql,
                         std::span<parameter const> parameters) -> result<> {
      auto answered = query(**s, sql, parameters);
      if (!answered) return std::unexpected(std::move(answered).error());
      all.push_back({std::string(name), as_text((*answered)[0][0])});
      return {};
    };
    for (auto const name : reported_settings) {
      std::array<parameter, 1> const which{name};
      if (auto added = add(name, setting_sql, which); !added)
        return std::unexpected(std::move(added).error());
    }
    if (auto added = add("build", build_sql, {}); !added)
      return std::unexpected(std::move(added).error());
    auto collation = default_collation(**s);
    if (!collation) return std::unexpected(std::move(collation).error());
    all.push_back({"collation", std::move(*collation)});
    if (auto added = add("schema", schema_sql, {}); !added)
      return std::unexpected(std::move(added).error());
    return all;
  }

  // What the database's encoding does not have (22P05), its texts cannot take for something else.
  result<bool> collapses(session& s, std::string_view a, std::string_view b) override {
    auto equal = sql_subject::collapses(s, a, b);
    if (!equal && equal.error().native.sqlstate == "22P05") return false;
    return equal;
  }

  std::optional<wire_place> wire() override {
    auto s = postgresql::connect(options_);
    return s ? detail::listens_at(postgresql::handle(**s)) : std::nullopt;
  }

  result<std::unique_ptr<session>> connect_by(std::uint16_t port,
                                              call_limits const& limits) override {
    auto by = options_;
    by.conninfo = detail::with_port(options_.conninfo, port);
    return open_by(door_, by, limits);
  }

  // The claim with what it needs, and the save with COMMIT. The effect appends and adds. What
  // found a record has a ROLLBACK left, sent with the answer.
  std::optional<declared_round_trips> declared_trips() override {
    // A session of `soci::connect` takes two to be reset, and is reset twice while it is counted.
    std::size_t const resets = door_ == front_door::native ? 0 : 4;
    return declared_round_trips{.around_effect = 2 + resets,
                                .standard_effect = 2,
                                .replay = 2 + resets,
                                .mismatch = 2 + resets,
                                .fixed = 1 + resets};
  }

  result<std::unique_ptr<session>> connect() override {
    auto opened = open_by(door_, options_);
    if (!opened) return opened;
    auto answered = query(**opened, process_sql);
    if (!answered) return std::unexpected(std::move(answered).error());
    std::scoped_lock const lock(mutex_);
    processes_[opened->get()] = as_integer((*answered)[0][0]);
    return opened;
  }

  result<std::string> session_id(session& s) override {
    auto answered = query(s, process_sql);
    if (!answered) return std::unexpected(std::move(answered).error());
    return std::to_string(as_integer((*answered)[0][0]));
  }

  bool waiting(session& s) override {
    auto answered = ask_about(s, waiting_sql);
    return answered && !answered->empty();
  }

  result<std::int64_t> named_locks(session& s) override {
    auto answered = ask_about(s, named_locks_sql);
    if (!answered) return std::unexpected(std::move(answered).error());
    return answered->empty() ? std::int64_t{0} : as_integer((*answered)[0][0]);
  }

  result<> kill_session(session& s) override {
    constexpr std::chrono::seconds longest{10};
    auto told = ask_about(s, terminate_sql);
    if (!told) return std::unexpected(std::move(told).error());
    if (told->empty()) return failed(errc::invalid_argument, "no session of this subject");
    auto const until = std::chrono::steady_clock::now() + longest;
    while (std::chrono::steady_clock::now() < until) {
      auto there = ask_about(s, is_there_sql);
      if (!there) return std::unexpected(std::move(there).error());
      if (there->empty()) return {};
    }
    return failed(errc::statement_failed, "the server did not end the session");
  }

  result<bool> has_session(std::string const& id) override {
    std::scoped_lock const lock(mutex_);
    auto there = ask_watcher(is_there_sql, std::stoll(id));
    if (!there) return std::unexpected(std::move(there).error());
    return !there->empty();
  }

  std::vector<isolation_level> levels() const override {
    return {{isolation::read_uncommitted, "read uncommitted"},
            {isolation::read_committed, "read committed"},
            {isolation::repeatable_read, "repeatable read"},
            {isolation::snapshot, "repeatable read"},
            {isolation::serializable, "serializable"}};
  }

  // Write skew: each reads what the other writes, and the first to commit dooms the other.
  // https://www.postgresql.org/docs/15/transaction-iso.html#XACT-SERIALIZABLE
  result<> conflict_at_commit(transaction& tx) override {
    auto partner = postgresql::connect(options_);
    if (!partner) return std::unexpected(std::move(partner).error());
    begin_options strongest;
    strongest.isolation = isolation::serializable;
    auto other = transaction::begin(**partner, strongest);
    if (!other) return std::unexpected(std::move(other).error());
    std::array<parameter, 1> const one{1}, two{2};
    if (auto read = execute(tx, read_skew_sql, one); !read) return read;
    if (auto read = execute(*other, read_skew_sql, two); !read) return read;
    if (auto written = execute(tx, write_skew_sql, two); !written) return written;
    if (auto written = execute(*other, write_skew_sql, one); !written) return written;
    return other->commit();
  }

  result<> leave_unread(session& s) override {
    if (detail::send_without_reading(postgresql::handle(s))) return {};
    return failed(errc::statement_failed, "libpq sends no query");
  }

  result<std::string> default_collation(session& s) override {
    return detail::default_collation_of(s);
  }

  result<std::unique_ptr<subject>> restored_elsewhere() override;

  result<> hold_schema(session& holder) override {
    for (auto const sql : {std::string_view("BEGIN"), hold_schema_sql})
      if (auto ran = query(holder, sql); !ran) return std::unexpected(std::move(ran).error());
    return {};
  }

  result<std::string> transaction_id(session& s) override {
    auto status = s.status();
    if (!status) return std::unexpected(std::move(status).error());
    if (*status == transaction_status::idle) return std::string();
    if (*status != transaction_status::open) return std::string(transaction_failed);
    auto answered = query(s, transaction_sql);
    if (!answered) return std::unexpected(std::move(answered).error());
    auto const& id = (*answered)[0][0];
    return is_null(id) ? std::string("open") : as_text(id);
  }

  result<> restart() override {
    error e;
    e.what = errc::unsupported;
    e.message = "the suite has no means to restart this server";
    return std::unexpected(std::move(e));
  }

  result<> hold_lock(session& holder) override {
    for (auto const sql : {std::string_view("BEGIN"), take_lock_sql})
      if (auto ran = query(holder, sql); !ran) return std::unexpected(std::move(ran).error());
    return {};
  }

  result<> release_lock(session& holder) override {
    if (auto ran = query(holder, "ROLLBACK"); !ran) return std::unexpected(std::move(ran).error());
    return {};
  }

  result<> want_lock(transaction& tx, std::chrono::milliseconds wait) override {
    std::array<parameter, 1> const limit{parameter(static_cast<std::int64_t>(wait.count()))};
    if (auto set = execute(tx, wait_sql, limit); !set) return set;
    return execute(tx, take_lock_sql);
  }

 protected:
  result<> write_statement(transaction& tx, std::string const& sql,
                           std::span<parameter const> parameters) const override {
    return write_by(door_, tx, sql, parameters);
  }

 private:
  static constexpr std::string_view transaction_failed = "failed";

  // The session may be inside a call of another thread: another one is asked about its process.
  result<rows> ask_about(session& s, std::string_view sql) {
    std::scoped_lock const lock(mutex_);
    auto const known = processes_.find(&innermost(s));
    if (known == processes_.end()) return rows{};
    return ask_watcher(sql, known->second);
  }

  // With the lock held.
  result<rows> ask_watcher(std::string_view sql, std::int64_t of_process) {
    if (!watcher_) {
      auto opened = postgresql::connect(options_);
      if (!opened) return std::unexpected(std::move(opened).error());
      watcher_ = std::move(*opened);
    }
    std::array<parameter, 1> const process{of_process};
    return query(*watcher_, sql, process);
  }

  // A right of the role, which the server is asked for once.
  bool makes_databases() const {
    std::scoped_lock const lock(mutex_);
    if (makes_databases_) return *makes_databases_;
    auto opened = postgresql::connect(options_);
    auto const may = opened ? detail::can_create_database(**opened) : result<bool>(false);
    if (may) makes_databases_ = *may;
    return may.value_or(false);
  }

  std::string url_;
  std::string target_;
  front_door door_;
  postgresql::options options_;
  mutable std::mutex mutex_;
  mutable std::optional<bool> makes_databases_;
  std::map<session const*, std::int64_t> processes_;
  std::unique_ptr<session> watcher_;
};

// A database of its own, which goes with it.
class moved_subject final : public postgresql_subject {
 public:
  moved_subject(std::string target, front_door door, postgresql::options const& there,
                postgresql::options origin, std::string name)
      : postgresql_subject(there.conninfo, std::move(target), door, there),
        origin_(std::move(origin)),
        name_(std::move(name)) {}
  ~moved_subject() override {
    if (auto s = postgresql::connect(origin_)) detail::drop_database(**s, name_);
  }

 private:
  postgresql::options origin_;
  std::string name_;
};

result<std::unique_ptr<subject>> postgresql_subject::restored_elsewhere() {
  std::string const name = "idem_conformance_" + std::to_string(getpid());
  auto origin = postgresql::connect(options_);
  if (!origin) return std::unexpected(std::move(origin).error());
  if (auto made = detail::create_database(**origin, name); !made)
    return std::unexpected(std::move(made).error());
  auto there = options_;
  there.conninfo = detail::with_database(options_.conninfo, name);
  auto moved = std::make_unique<moved_subject>(target_, door_, there, options_, name);
  if (auto ready = moved->prepare(); !ready) return std::unexpected(std::move(ready).error());
  auto s = moved->connect();
  if (!s) return std::unexpected(std::move(s).error());
  if (auto copied = detail::copy_records(**origin, **s, names()); !copied)
    return std::unexpected(std::move(copied).error());
  return moved;
}

}  // namespace

result<std::unique_ptr<subject>> make_postgresql_subject(std::string_view url) {
  auto options = postgresql::parse_url(without_front_door(url));
  if (!options) return std::unexpected(std::move(options).error());
  auto parsed = parse_target_url(url);
  auto shown = parsed ? without_password(*parsed) : std::string("postgresql:");
  return std::make_unique<postgresql_subject>(std::string(url), std::move(shown),
                                              front_door_of(url), std::move(*options));
}

}  // namespace idem::inline v1::conformance
