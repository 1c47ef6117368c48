// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <idem/identity.h>
#include <idem/schema.h>
#include <idem/session.h>
#include <idem/transaction.h>

namespace idem::inline v1::conformance {

class kept_statement;

/// Something an engine can show. Declared by the subject and tested both ways: a scenario that
/// needs it runs where it is declared; elsewhere a probe must find it absent.
enum class capability : std::uint8_t {
  processes,                      ///< several processes can open the database; see `has_session`
  restart,                        ///< the suite can restart the server cleanly
  concurrent_writers,             ///< transactions of different keys do not wait for each other
  wait_names_identity,            ///< a claim's time-out means this identity
  deadlock,                       ///< two transactions can deadlock and the server chooses a victim
  deferred_constraint,            ///< a constraint can fail at COMMIT
  lock_wait_in_effect,            ///< a statement of the effect can time out on another's lock
  statement_can_end_transaction,  ///< a failing statement can end or abort the transaction
  text_collation,                 ///< a text column can compare other bytes as equal
  dirty_read,                     ///< a transaction can be shown what another has not committed
  snapshot,         ///< a transaction can go on seeing what was there before others committed
  commit_conflict,  ///< a commit can be refused for what another transaction did meanwhile
  named_locks,      ///< idem takes locks by name there, and the server shows them
  kill_session,     ///< the server can end a session from outside
  other_collation,  ///< a database can be made in which texts compare otherwise
  alter_table,      ///< what a prepared statement reads can change its columns
  unread_results,   ///< a session can be given back with results unread
  wire,             ///< the suite can stand between the client and the server
};

/// What a connection speaks. `segments`: nothing is known of it, each read is one message.
enum class wire_protocol : std::uint8_t { postgresql, mysql, segments };

/// Where a server listens whose wire the suite can read and cut.
struct wire_place {
  std::string host;
  std::uint16_t port = 0;
  wire_protocol protocol = wire_protocol::postgresql;
};

/// What one operation costs, in round trips, with its statements prepared before.
struct declared_round_trips {
  std::size_t around_effect = 0;    ///< begin, claim, save and COMMIT of a first execution
  std::size_t standard_effect = 0;  ///< of `subject::write`
  std::size_t replay = 0;           ///< with what is left for after the answer
  std::size_t mismatch = 0;
  /// An operation with a fixed effect, replayed and mismatched too; 0 if it takes as many as one
  /// with any other effect.
  std::size_t fixed = 0;
};

/// A setting or version read from the server, never assumed.
struct fact {
  std::string name;
  std::string value;
  friend bool operator==(fact const&, fact const&) = default;
};

/// One row of the effect's ledger. The ledger has no unique key: a second effect is a second
/// row.
struct ledger_row {
  std::string tag;    ///< which identity: hexadecimal digest
  std::string nonce;  ///< drawn inside the effect
  std::int64_t worker = 0;
  std::int64_t amount = 0;
  friend bool operator==(ledger_row const&, ledger_row const&) = default;
};

/// A level that a transaction may ask for, and the server's word for what it then has.
struct isolation_level {
  isolation asked = isolation::engine_default;
  std::string_view shown;
};

/// Something of a session that the one who had it before may have changed.
struct session_setting {
  std::string_view name;
  /// What `session::reset` undoes. Anything else stays, and must do no harm.
  bool restored = true;
};

/// What a fixed effect of the suite consists of.
enum class fixed_part : std::uint8_t { write, break_constraint, break_at_commit, commit };

/// How an effect may end the transaction that it was lent.
enum class ending : std::uint8_t { commit, rollback, commit_and_begin };

/// One engine and driver, as the suite needs it. Written once per engine, about forty lines of
/// which are particular. Members that take a session or transaction may be given one that a
/// saboteur wraps. One subject is used by several threads, each with its own session; members
/// without a session are called by the main thread.
class subject {
 public:
  subject() = default;
  subject(subject const&) = delete;
  subject& operator=(subject const&) = delete;
  virtual ~subject() = default;

  virtual std::string name() const = 0;    ///< "sqlite"
  virtual std::string target() const = 0;  ///< the URL, without secrets
  /// The URL by which a worker process reaches the same database: with what secrets it needs.
  virtual std::string worker_target() const { return target(); }
  virtual std::set<capability> declared() const = 0;
  /// Where the suite keeps its own tables: never the application's.
  virtual table_names names() const = 0;

  [[nodiscard]] virtual result<std::vector<fact>> facts() = 0;
  /// Keeps every other run of the suite away from these tables while the session lives; null
  /// where nobody else can reach them or nothing can tell. Errors: `resource_exhausted`, naming
  /// the run that is at work there.
  [[nodiscard]] virtual result<std::unique_ptr<session>> occupy() { return nullptr; }
  /// Installs idem's tables under `names` and the ledger, and empties them.
  [[nodiscard]] virtual result<> prepare() = 0;

  [[nodiscard]] virtual result<std::unique_ptr<session>> connect() = 0;
  /// Where a relay would stand; nothing where there is no wire.
  virtual std::optional<wire_place> wire() { return std::nullopt; }
  /// As `connect`, by a port of 127.0.0.1 where a relay listens.
  [[nodiscard]] virtual result<std::unique_ptr<session>> connect_by(std::uint16_t port,
                                                                    call_limits const& = {});
  virtual std::optional<declared_round_trips> declared_trips() { return std::nullopt; }
  /// The server's own name of the session.
  [[nodiscard]] virtual result<std::string> session_id(session&) = 0;
  /// The engine's lock view: is this session waiting for another's lock now? Thread-safe.
  virtual bool waiting(session&) = 0;
  /// The server's view: the id of the session's transaction, empty if it has none.
  [[nodiscard]] virtual result<std::string> transaction_id(session&) = 0;
  [[nodiscard]] virtual result<> restart() = 0;

  // The effect and the observer's reading.
  /// Appends to the ledger and adds the amount to the balance.
  [[nodiscard]] virtual result<> write(transaction&, ledger_row const&) = 0;
  /// The statements of that part, for a session of that dialect; nothing if no statement does it.
  virtual std::vector<kept_statement> fixed(dialect const&, fixed_part,
                                            ledger_row const& = {}) const = 0;
  /// All rows that this session sees: inside a transaction its own writes too.
  [[nodiscard]] virtual result<std::vector<ledger_row>> ledger(session&) = 0;
  [[nodiscard]] virtual result<std::int64_t> balance(session&) = 0;
  /// The record's whole row, every column, in one unambiguous text; nothing if there is none.
  [[nodiscard]] virtual result<std::optional<std::string>> record_row(session&,
                                                                      identity const&) = 0;
  [[nodiscard]] virtual result<std::int64_t> record_count(session&) = 0;

  // Provocations inside an effect. Each sends a real statement and gives the server's answer.
  /// A statement that breaks a constraint of a table of the suite.
  [[nodiscard]] virtual result<> break_constraint(transaction&) = 0;
  /// A statement whose failure ends or aborts the transaction.
  [[nodiscard]] virtual result<> break_transaction(transaction&) = 0;
  /// A write that is in order now and fails at COMMIT.
  [[nodiscard]] virtual result<> break_at_commit(transaction&) = 0;
  [[nodiscard]] virtual result<> end_transaction(transaction&, ending) = 0;
  [[nodiscard]] virtual result<> delete_record(transaction&, identity const&) = 0;
  /// Takes, in its own transaction on `holder`, the lock that `want_lock` needs.
  [[nodiscard]] virtual result<> hold_lock(session& holder) = 0;
  [[nodiscard]] virtual result<> release_lock(session& holder) = 0;
  /// A statement that waits for the lock of `hold_lock`, `wait` at most.
  [[nodiscard]] virtual result<> want_lock(transaction&, std::chrono::milliseconds wait) = 0;
  /// Whether a text column with the engine's most collapsing collation takes the two for equal.
  [[nodiscard]] virtual result<bool> collapses(session&, std::string_view a,
                                               std::string_view b) = 0;
  /// Inserts NULL for one key part (0 scope, 1 operation, 2 key) straight into the records.
  [[nodiscard]] virtual result<> insert_null_key(session&, int part) = 0;
  /// Makes later claims of this identity conflict without a visible row, and undoes that.
  [[nodiscard]] virtual result<> hide_record(session&, identity const&, bool hidden) = 0;

  // What not every engine has: `unsupported`, or nothing, unless overridden.
  /// The levels that the engine takes. Any other must be refused before anything is done.
  virtual std::vector<isolation_level> levels() const { return {}; }
  /// The server's word for the level of the session's transaction; without one, for that of the
  /// next.
  [[nodiscard]] virtual result<std::string> isolation_of(session&);
  /// Makes the commit of this transaction, which asked for the strongest level, fail for what
  /// another did meanwhile. Nothing may follow but the save.
  [[nodiscard]] virtual result<> conflict_at_commit(transaction&);
  /// Has the server end the session, which may be waiting for a lock, until it is gone.
  [[nodiscard]] virtual result<> kill_session(session&);
  /// Whether the server still has the session of this `session_id`, which may be another process's.
  [[nodiscard]] virtual result<bool> has_session(std::string const& id);
  /// Has this called before each write that the engine, inside this process, makes to its files.
  /// `unsupported` where a server makes them.
  [[nodiscard]] virtual result<> watch_writes(std::function<void()>);
  /// Leaves a result unread on the session's handle, as careless users do.
  [[nodiscard]] virtual result<> leave_unread(session&);

  virtual std::vector<session_setting> settings() const { return {}; }
  [[nodiscard]] virtual result<> make_dirty(session&, session_setting const&);
  /// Its value, in one unambiguous text.
  [[nodiscard]] virtual result<std::string> setting(session&, session_setting const&);

  /// Gives what `read_altered` reads another number of columns.
  [[nodiscard]] virtual result<> alter_table(session&, bool wider);
  /// How many columns there are, by a statement whose text never changes.
  [[nodiscard]] virtual result<std::size_t> read_altered(transaction&);

  /// Takes, in a transaction on `holder`, a lock that `schema::install` waits for after it has
  /// taken its lock by name. `release_lock` ends it.
  [[nodiscard]] virtual result<> hold_schema(session& holder);
  /// The server's view: how many locks by name the session has. Thread-safe.
  [[nodiscard]] virtual result<std::int64_t> named_locks(session&);

  /// Idem's tables with their records, dumped and restored into a database of another default
  /// collation, which goes with the subject that is given.
  [[nodiscard]] virtual result<std::unique_ptr<subject>> restored_elsewhere();
  /// The default collation of the database, as the server names it.
  [[nodiscard]] virtual result<std::string> default_collation(session&);
};

/// Makes a subject from a target URL. Errors: `configuration` for a scheme that no subject of
/// this build takes.
using subject_factory = result<std::unique_ptr<subject>> (*)(std::string_view url);

}  // namespace idem::inline v1::conformance
