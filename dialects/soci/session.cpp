// SPDX-License-Identifier: BSL-1.0
// The port over the handle inside a soci::session.
#include "dialects/soci/session_impl.h"

#include <soci/soci.h>
#include <soci/version.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace idem::inline v1::soci::detail {

namespace {

// Whose handle it is. A transaction hands its effect a view of the session, and a suite or an
// observer may have wrapped that again, but all of them pass the handle on.
class handle_registry {
 public:
  void put(void* handle, soci_session* s) {
    std::scoped_lock const lock(mutex_);
    sessions_[handle] = s;
  }
  soci_session* find(void* handle) {
    std::scoped_lock const lock(mutex_);
    auto const found = sessions_.find(handle);
    return found == sessions_.end() ? nullptr : found->second;
  }
  void remove(soci_session* s) {
    std::scoped_lock const lock(mutex_);
    std::erase_if(sessions_, [s](auto const& one) { return one.second == s; });
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, soci_session*> sessions_;
};

handle_registry& registry() {
  static handle_registry all;
  return all;
}

error replaced_error(engine const& e) {
  error replaced;
  replaced.what = errc::transaction_replaced;
  replaced.phase = phase::effect;
  replaced.advice = e.replaced;
  replaced.message =
      "the SOCI session has another connection than the transaction began on: it was closed, "
      "reconnected or failed over";
  return replaced;
}

error closed_error() {
  error e;
  e.what = errc::connection_lost;
  e.advice = advice::new_connection;
  e.message = "the SOCI session is closed";
  return e;
}

bool calls_for_restart(meaning const& m) {
  return m.advice == advice::new_transaction || m.advice == advice::new_connection;
}

}  // namespace

std::unexpected<error> refuse(errc what, phase where, advice next, std::string message) {
  error e;
  e.what = what;
  e.phase = where;
  e.advice = next;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

engine const* find_engine(std::string_view engine::* member, std::string_view text) noexcept {
  for (engine const* e : std::initializer_list<engine const*>{
#if IDEM_HAS_SQLITE
           &sqlite_engine,
#endif
#if IDEM_HAS_POSTGRESQL
           &postgresql_engine,
#endif
       })
    if (e->*member == text) return e;
  return nullptr;
}

soci_session::soci_session(::soci::session& sql, engine const& e)
    : sql_(&sql), engine_(&e), guarded_(e.guards_commit) {}

soci_session::soci_session(std::unique_ptr<::soci::session> sql, engine const& e, restorer restore)
    : owned_(std::move(sql)),
      restore_(std::move(restore)),
      sql_(owned_.get()),
      engine_(&e),
      guarded_(e.guards_commit) {}

soci_session::~soci_session() {
  registry().remove(this);
  close_part();
  if (owned_) engine_->close(std::move(owned_));
}

void soci_session::close_part() noexcept {
  part_.left_behind = part_.port && engine_->handle(*sql_) != part_.handle;
  engine_->detach(part_);
  part_ = {};
}

bool soci_session::is_current() const {
  void* const now = engine_->handle(*sql_);
  return part_.port && now == part_.handle && engine_->incarnation(now) == part_.incarnation;
}

// The port on the handle of this moment: SOCI may have connected anew since the last call.
result<session*> soci_session::port() {
  if (is_current()) return part_.port.get();
  if (begun_) {
    guarded_ = false;  // what was written on the other connection is kept from nobody
    return std::unexpected(replaced_error(*engine_));
  }
  close_part();
  part_.handle = engine_->handle(*sql_);
  if (part_.handle == nullptr) return std::unexpected(closed_error());
  part_.incarnation = engine_->incarnation(part_.handle);
  engine_->attach(part_);
  return part_.port.get();
}

// Whatever was answered: when the caller's patience had ended, a cancel may have been sent.
void soci_session::note_patience(call_limits const& limits) noexcept {
  bool const ended =
      limits.stop.stop_requested() || std::chrono::steady_clock::now() >= limits.deadline;
  cancelled_ = cancelled_ || ended;
}

// Before the caller can do what he likes with his session again.
void soci_session::settle() noexcept {
  if (!begun_ && !engine_->keeps_port) close_part();
}

std::uint64_t soci_session::incarnation() {
  void* const now = engine_->handle(*sql_);
  return now == nullptr ? 0 : engine_->incarnation(now);
}

result<transaction_status> soci_session::status() {
  auto p = port();
  if (!p && p.error().what == errc::connection_lost) return transaction_status::unknown;
  if (!p) return std::unexpected(std::move(p).error());
  auto now = (*p)->status();
  settle();
  return now;
}

result<> soci_session::begin(begin_options const& o) {
  auto p = port();
  if (!p) return std::unexpected(std::move(p).error());
  noted_.reset();
  auto begun = (*p)->begin(o);
  begun_ = begun.has_value();
  guarded_ = engine_->guards_commit;
  settle();
  return begun;
}

result<std::vector<rows>> soci_session::execute(std::span<statement const> all,
                                                call_limits const& limits) {
  auto p = port();
  if (!p) return std::unexpected(std::move(p).error());
  auto answered = (*p)->execute(all, limits);
  note_patience(limits);
  settle();
  return answered;
}

result<> soci_session::commit(std::span<statement const> last, call_limits const& limits) {
  auto p = port();
  if (!p) {
    error e = std::move(p).error();
    e.phase = phase::commit;
    e.certainty = certainty::rolled_back;
    return std::unexpected(std::move(e));
  }
  auto committed = (*p)->commit(last, limits);
  guarded_ = guarded_ && (*p)->guards_commit();
  if (committed) begun_ = false;
  settle();
  return committed;
}

result<whole_answer> soci_session::run_whole(whole_transaction const& whole,
                                             call_limits const& limits) {
  auto p = port();
  if (!p) return std::unexpected(std::move(p).error());
  auto answered = (*p)->run_whole(whole, limits);
  note_patience(limits);
  settle();
  return answered;
}

// A port whose connection was replaced is closed, which rolls back what it may still hold; on the
// new connection the effect may have begun something, too.
result<> soci_session::rollback() noexcept try {
  if (begun_ && !is_current()) {
    guarded_ = false;
    close_part();
  }
  bool const ours = std::exchange(begun_, false);
  auto p = port();
  if (!p) return std::unexpected(std::move(p).error());
  auto ended = (*p)->rollback();
  if (ours) guarded_ = guarded_ && (*p)->guards_commit();
  settle();
  return ended;
} catch (...) {
  return std::unexpected(error{});
}

result<> soci_session::reset() noexcept try {
  if (auto ended = rollback(); !ended) return ended;
  auto p = port();
  if (!p) return std::unexpected(std::move(p).error());
  auto clean = (*p)->reset();
  settle();
  if (clean && restore_) restore_(*sql_);
  return clean;
} catch (...) {
  return std::unexpected(error{});
}

// Where no port is kept, none is touched: another thread may ask whose handle waits for a lock.
void* soci_session::native_handle() noexcept try {
  void* handle = engine_->handle(*sql_);
  if (engine_->keeps_port) {
    // The port sends a BEGIN that it holds back.
    if (auto p = port()) handle = (*p)->native_handle();
  }
  if (handle != nullptr) registry().put(handle, this);
  return handle;
} catch (...) {
  return nullptr;
}

std::optional<error> soci_session::pending_error() noexcept try {
  auto p = port();
  if (!p) return std::move(p).error();
  if (noted_) return noted_;
  auto pending = (*p)->pending_error();
  settle();
  return pending;
} catch (...) {
  return std::nullopt;
}

std::string soci_session::one_writer_of() {
  auto p = port();
  if (!p) return {};
  auto name = (*p)->one_writer_of();
  settle();
  return name;
}

void soci_session::note(::soci::soci_error const& thrown) {
  auto native = engine_->code_of(thrown);
  if (!native) return;
  // The driver may say more than SOCI's exception: an extended code.
  if (auto pending = pending_error();
      pending && native->sqlstate.empty() && (pending->native.code & 0xff) == (native->code & 0xff))
    native = pending->native;
  auto const means = sql().classify(*native);
  if (!calls_for_restart(means)) return;
  error e;
  e.what = means.what;
  e.phase = phase::effect;
  e.advice = means.advice;
  e.message = "a statement of the effect failed in SOCI";
  e.native = std::move(*native);
  noted_ = std::move(e);
}

result<std::unique_ptr<soci_session>> make_session(::soci::session& sql) {
  if (sql.get_backend() == nullptr)
    return refuse(errc::connection_failed, phase::connect, advice::never,
                  "the SOCI session is not open: open it first");
  auto const name = sql.get_backend_name();
  auto const* e = find_engine(&engine::soci_name, name);
  if (e == nullptr)
    return refuse(errc::unsupported, phase::connect, advice::never,
                  "this build of idem cannot work with SOCI's backend '" + name + "'");
  return std::make_unique<soci_session>(sql, *e);
}

result<std::unique_ptr<session>> make_session(std::unique_ptr<::soci::session> sql, engine const& e,
                                              restorer restore) {
  return std::make_unique<soci_session>(std::move(sql), e, std::move(restore));
}

void note_exception(transaction const& tx) noexcept try {
  auto* s = registry().find(tx.session().native_handle());
  if (s == nullptr) return;
  try {
    throw;
  } catch (::soci::soci_error const& thrown) {
    s->note(thrown);
  }
} catch (...) {
  return;  // no soci_error, or no memory for noting it: it passes through unjudged
}

}  // namespace idem::inline v1::soci::detail

namespace idem::inline v1::soci {

result<std::unique_ptr<session>> adopt(::soci::session& sql) {
  auto made = detail::make_session(sql);
  if (!made) return std::unexpected(std::move(made).error());
  return std::move(*made);
}

::soci::session* find_session(session& s) noexcept {
  auto* const found = detail::registry().find(s.native_handle());
  return found == nullptr ? nullptr : &found->lent();
}

::soci::session& session_of(transaction const& tx) {
  auto* const found = find_session(tx.session());
  if (found != nullptr) return *found;
  error e;
  e.what = errc::invalid_argument;
  e.phase = phase::effect;
  e.certainty = certainty::rolled_back;
  e.message = "the transaction's session is not an open one of SOCI: run over a source of SOCI's";
  throw std::bad_expected_access<error>(std::move(e));
}

std::string_view driver_version() noexcept {
  static std::string const version = "SOCI " + std::to_string(SOCI_VERSION / 100000) + "." +
                                     std::to_string(SOCI_VERSION / 100 % 1000) + "." +
                                     std::to_string(SOCI_VERSION % 100);
  return version;
}

}  // namespace idem::inline v1::soci
