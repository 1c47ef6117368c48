// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <idem/session.h>

#include "tests/support/scripted_server.h"

namespace idem_test {

/// One virtual call of the port, `session_source` included.
enum class port_call : std::uint8_t {
  acquire,
  status,
  begin,
  execute,
  commit,       ///< nothing but COMMIT
  save_commit,  ///< the save and COMMIT in one call
  rollback,
  reset,
};

enum class fault_kind : std::uint8_t {
  lost_before,      ///< the connection is lost and the call did nothing
  lost_after,       ///< the connection is lost and the call took effect
  lost_lingering,   ///< as lost_after; the server notices when someone waits
  lost_stuck,       ///< as lost_after; the server does not notice for long
  serialization,    ///< the transaction can only be rolled back
  deadlock,         ///< the server has rolled the transaction back
  lock_timeout,     ///< only the statement is undone
  statement_error,  ///< advice never, only the statement is undone
  out_of_time,      ///< the caller's deadline: as statement_error
  rollback_fails,   ///< the transaction stays open
  status_unknown,   ///< the session cannot say
  reset_fails,
  commit_unsent,         ///< the connection is lost before COMMIT was sent
  commit_not_reached,    ///< COMMIT was sent and did not arrive
  commit_unanswered,     ///< COMMIT took place, its answer is lost
  commit_refused,        ///< a deferred constraint: rolled back, advice never
  commit_serialization,  ///< rolled back, advice new_transaction
  commit_busy,           ///< not committed, the transaction is still open
  commit_late,           ///< in doubt, and COMMIT takes place later
};
inline constexpr std::size_t fault_kinds = 19;
char const* name_of(fault_kind) noexcept;

struct fault {
  fault_kind kind = fault_kind::lost_before;
  int late_by = 0;  ///< of commit_late: steps until it arrives, 0 for "after the run"
  waited_for when_waited = waited_for::lands;
};

/// Can this fault happen to this call?
bool applies(fault const&, port_call) noexcept;

struct injection {
  int step = 0;
  fault what;
};

/// What the sessions of one test share: the server, the plan of faults, the trace of calls.
struct scripted_world {
  explicit scripted_world(flavour f);
  scripted_world(scripted_world const&) = delete;

  scripted_server server;
  idem::dialect dialect;

  std::vector<injection> plan;
  std::vector<port_call> trace;  ///< the calls so far: a step is its index, from 1
  std::array<int, fault_kinds> fired{};
  /// Told of each call before it is made.
  std::function<void(port_call)> on_step;
  /// A transient error for the next statements of an effect, one for each.
  std::vector<fault_kind> effect_errors;

  bool commit_doubtful = false;       ///< a COMMIT was sent and not answered
  bool replaced = false;              ///< an effect ended the transaction with the handle
  bool blinded = false;               ///< and a fault came after that
  bool witness_struck = false;        ///< a fault looked as if it had
  std::vector<std::string> breaches;  ///< what no client of a session may do

  /// Counts one call; the fault that strikes it, if one does.
  std::optional<fault> step(port_call);
};

/// One connection to the simulated server.
class scripted_session final : public idem::session {
 public:
  explicit scripted_session(scripted_world&);
  ~scripted_session() override;

  idem::dialect const& sql() const noexcept override { return world_->dialect; }
  idem::result<idem::transaction_status> status() override;
  idem::result<> begin(idem::begin_options const&) override;
  idem::result<> commit(std::span<idem::statement const> last, idem::call_limits const&) override;
  idem::result<> rollback() noexcept override;
  idem::result<std::vector<idem::rows>> execute(std::span<idem::statement const>,
                                                idem::call_limits const&) override;
  idem::result<> reset() noexcept override;
  void* native_handle() noexcept override { return this; }
  std::optional<idem::error> pending_error() noexcept override { return pending_; }
  bool guards_commit() const noexcept override { return world_->server.kind().guards_commit; }

  // What an effect can do with the handle, past idem. False where the engine refuses.
  bool native_begin();
  bool native_commit();
  bool native_rollback();
  void native_release_savepoint();
  void native_effect(std::string const& what);
  /// A statement that fails and whose error only the handle remembers.
  void native_failure(fault_kind);

  bool usable() const noexcept { return connected_; }
  bool has_open_transaction() const;

 private:
  friend class scripted_source;
  using answer = idem::result<idem::rows>;

  idem::result<std::vector<idem::rows>> struck(fault const&, std::span<idem::statement const>);
  idem::error fail_as(fault_kind);
  std::optional<idem::error> refuse_statement(std::string_view sql);
  idem::result<std::vector<idem::rows>> run_all(std::span<idem::statement const>);
  void drop_connection(fault_kind);
  void fail_transaction();
  answer run(idem::statement const&);
  answer run_claim(idem::statement const&);
  answer run_find(idem::statement const&);
  answer run_save(idem::statement const&);
  answer run_discard(idem::statement const&);
  answer run_effect(idem::statement const&);
  answer run_savepoint(std::string_view sql);
  idem::result<> commit_struck(fault const&);
  idem::result<> send_commit();

  scripted_world* world_;
  std::optional<scripted_server::transaction_id> transaction_;
  bool connected_ = true;
  bool failed_ = false;  ///< the transaction hears only ROLLBACK
  bool begun_by_port_ = false;
  std::optional<idem::error> pending_;
};

/// Makes a new session whenever one is asked for and none is free. Watches that no session is
/// given back as reusable that is not.
class scripted_source final : public idem::session_source {
 public:
  explicit scripted_source(scripted_world& w) : world_(&w) {}
  idem::result<idem::session*> acquire(idem::call_limits const&) override;
  void release(idem::session*, bool reusable) noexcept override;

 private:
  scripted_world* world_;
  std::list<std::unique_ptr<scripted_session>> all_;
  std::vector<scripted_session*> idle_;
};

/// `idem::lone_session` over one scripted session, with the same watch.
class watched_lone_session final : public idem::session_source {
 public:
  explicit watched_lone_session(scripted_world& w) : world_(&w), session_(w), lone_(session_) {}
  idem::result<idem::session*> acquire(idem::call_limits const&) override;
  void release(idem::session*, bool reusable) noexcept override;

 private:
  scripted_world* world_;
  scripted_session session_;
  idem::lone_session lone_;
};

}  // namespace idem_test
