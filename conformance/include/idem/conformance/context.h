// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <idem/conformance/contract.h>
#include <idem/conformance/subject.h>
#include <idem/pool.h>
#include <idem/store.h>

namespace idem::inline v1::conformance {

/// What one call told its caller, for the history.
enum class told : std::uint8_t {
  executed,
  replayed,
  refused,         ///< nothing stored
  refusal_stored,  ///< the refusal is the stored answer, now or replayed
  mismatched,
  in_progress,
  failed,   ///< an error that says nothing of this call stays
  unknown,  ///< in doubt
};
std::string_view to_string(told) noexcept;

struct history_entry {
  std::string tag;
  told what = told::failed;
  std::string body;  ///< of executed and replayed
};

/// One assertion of a scenario.
struct check_entry {
  bool ok = false;
  std::string what;
  std::string place;  ///< file:line
};

/// A request and the ledger's name for it.
struct operation {
  idem::request request;
  std::string tag;
  std::int64_t amount = 1;
};

/// The answer of one `run`.
struct call {
  result<outcome> answered;

  template <class T>
  T const* get() const noexcept {
    return answered ? std::get_if<T>(&*answered) : nullptr;
  }
  template <class T>
  bool is() const noexcept {
    return get<T>() != nullptr;
  }
  /// The response's body, of whichever outcome has one; empty otherwise.
  std::string body() const;
  /// "executed", "error lock_timeout", …
  std::string name() const;
  bool failed_with(errc what) const noexcept { return !answered && answered.error().what == what; }
};

class child_process;

/// Thrown by `context::require`: the scenario cannot go on. Not an error of the suite.
struct scenario_stopped {};

/// How worker processes are started: the command and its leading arguments.
using worker_command = std::vector<std::string>;

/// A worker process that may have been killed.
struct worker_end {
  bool killed = false;
  std::string output;
};

/// What a scenario works with. `check`, `mark` and `note` may be called by any thread;
/// everything else belongs to the scenario's own thread unless said otherwise.
class context {
 public:
  context(subject&, contract&, std::string scenario_id, std::uint64_t seed, worker_command,
          std::string saboteur);
  /// A worker's: the scope is its parent's, and no canary is planted.
  context(subject&, contract&, std::string scope);
  ~context();

  subject& engine() noexcept { return subject_; }
  contract& idem() noexcept { return contract_; }
  std::mt19937_64& random() noexcept { return random_; }
  std::string const& scope() const noexcept { return scope_; }
  std::uint64_t seed() const noexcept { return seed_; }
  worker_command const& worker_start() const noexcept { return worker_; }
  /// The saboteur at work; empty for the real store.
  std::string const& saboteur() const noexcept { return saboteur_; }

  // Judging.
  bool check(bool ok, std::string what, std::source_location = std::source_location::current());
  void require(bool ok, std::string what, std::source_location = std::source_location::current());
  /// The value of one of the suite's own preparations, without which nothing can go on. No
  /// assertion of the scenario: it counts only if it fails.
  template <class T>
  T must(result<T> r, std::string what,
         std::source_location where = std::source_location::current()) {
    if (!r) require(false, std::move(what) + ": " + describe(r.error()), where);
    if constexpr (!std::is_void_v<T>) return std::move(*r);
  }
  /// Something that had to be seen was seen.
  void mark(std::string name);
  void log(std::string line);

  // Operations. Identities are unique to this run of the scenario: its scope is.
  operation make_operation(std::string_view key, std::string_view payload = "payload");
  operation make_operation(identity_parts, std::optional<std::string_view> payload);
  operation wrap(idem::request);

  /// A session for operations (through the contract's `adapt`), kept until the scenario ends
  /// and then checked to hold no transaction.
  session& connect();
  /// A pool for operations. Kept until the scenario ends.
  session_source& make_pool(std::size_t sessions);

  /// `run` with the standard effect, noted in the history. Thread-safe for distinct sessions.
  call run(session&, operation const&, run_options const& = {});
  call run(session_source&, operation const&, run_options const& = {});
  call run(session_source&, operation const&, effect_function const&, run_options const& = {});
  call run(session&, operation const&, effect_function const&, run_options const& = {});

  /// `run_fixed` with the standard effect's statements, and with `last` behind them.
  call run_fixed(session_source&, operation const&, run_options const& = {},
                 std::optional<fixed_part> last = {});
  call run_fixed(session&, operation const&, run_options const& = {},
                 std::optional<fixed_part> last = {});

  /// The standard effect: counts the call, draws a nonce, writes one ledger row, answers 200
  /// with the nonce as body.
  effect_function standard_effect(operation const&);
  /// What the standard effect does to the database. The nonce it drew.
  [[nodiscard]] result<std::string> write_effect(transaction&, operation const&);
  response response_with(std::string body) const;
  int body_calls() const noexcept { return body_calls_.load(); }
  int body_calls(operation const&) const;
  /// For effects that a scenario writes itself.
  void count_body_call(operation const&);

  /// Notes what a call made without `run` told its caller.
  void note(operation const&, told, std::string body = "");

  // The observer: an independent session that no operation uses.
  session& observer();
  /// Restarts the server. Every session and pool from here is gone, the observer is a new one.
  void restart();
  std::vector<ledger_row> ledger_rows(operation const&);
  std::int64_t ledger_size();
  std::optional<std::string> record_row(operation const&);
  bool has_record(operation const& op) { return record_row(op).has_value(); }
  /// Rows of effect and records of this operation are as said.
  void check_stored(operation const&, std::size_t effects, bool record,
                    std::source_location = std::source_location::current());

  /// Polls until true; false when `limit` has passed.
  bool await(std::function<bool()> const&,
             std::chrono::milliseconds limit = std::chrono::seconds(20));
  bool await_blocked(session& s) {
    return await([&] { return subject_.waiting(s); });
  }

  /// Starts a worker process with these arguments and gives its standard output when it has
  /// ended with status 0. The suite adds target, scope, seed and saboteur.
  [[nodiscard]] result<std::string> worker(std::vector<std::string> arguments);
  /// As `worker`, of a process that may kill itself. While it runs, `dies` is asked again and
  /// again; when it says true the process is killed.
  [[nodiscard]] result<worker_end> mortal_worker(std::vector<std::string> arguments,
                                                 std::function<bool()> const& dies = {});
  /// Several at once.
  std::vector<result<std::string>> workers(std::vector<std::vector<std::string>> arguments);

  // For the gate.
  std::vector<check_entry> const& checks() const noexcept { return checks_; }
  std::set<std::string> const& marks() const noexcept { return marks_; }
  std::vector<std::string> const& lines() const noexcept { return lines_; }
  std::vector<history_entry> const& history() const noexcept { return history_; }
  /// For a scenario that ran whole suites on the same subject inside itself: empties the tables,
  /// connects the observer anew and plants new canaries.
  void start_over() {
    must(subject_.prepare(), "the tables are emptied");
    observer_ = must(subject_.connect(), "the observer connects again");
    canaries_.clear();
    plant_canaries();
  }

  /// The universal invariants I1 to I6, checked by the observer after the scenario.
  void check_invariants();
  /// Checks that the scenario itself made: without the preparations' and the invariants'.
  std::size_t own_checks() const noexcept { return own_checks_; }

 private:
  [[nodiscard]] result<child_process> start_worker(std::vector<std::string> arguments);
  struct canary {
    operation op;
    std::string row;
  };
  void plant_canaries();
  void check_history_of(std::string const& tag);
  void check_sessions();
  call noted(operation const&, result<outcome>);
  std::string make_nonce();

  subject& subject_;
  contract& contract_;
  std::string scenario_id_;
  std::string scope_;
  std::uint64_t seed_;
  worker_command worker_;
  std::string saboteur_;
  std::mt19937_64 random_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();

  std::mutex mutex_;
  std::vector<check_entry> checks_;
  std::size_t own_checks_ = 0;
  std::set<std::string> marks_;
  std::vector<std::string> lines_;
  std::vector<history_entry> history_;
  std::map<std::string, int> body_calls_of_;
  std::map<std::string, identity> identities_;
  std::set<std::string> session_ids_;
  std::atomic<int> body_calls_ = 0;
  std::atomic<std::int64_t> nonces_ = 0;

  std::unique_ptr<session> observer_;
  std::vector<std::unique_ptr<session>> sessions_;
  std::vector<std::unique_ptr<session_pool>> pools_;
  std::vector<canary> canaries_;
};

/// One operation taken step by step through `claim` and `complete`, in a transaction of its
/// own: what schedules are made of. Notes in the history what it came to.
class stepwise {
 public:
  stepwise(context&, session&, operation const&);

  [[nodiscard]] result<> begin(std::chrono::milliseconds wait = std::chrono::seconds(10));
  /// "claimed", "replayed", "mismatched", "in_progress".
  [[nodiscard]] result<std::string> claim(
      std::chrono::milliseconds wait = std::chrono::seconds(10));
  [[nodiscard]] result<> effect();
  [[nodiscard]] result<> complete();
  [[nodiscard]] result<> commit();
  [[nodiscard]] result<> rollback();

  transaction& tx() { return *transaction_; }
  bool claimed() const noexcept { return token_.has_value(); }

 private:
  context& context_;
  session& session_;
  operation op_;
  std::optional<transaction> transaction_;
  std::optional<claim_token> token_;
  std::string body_;
  bool completed_ = false;
  std::optional<replayed> replayed_;
};

}  // namespace idem::inline v1::conformance
