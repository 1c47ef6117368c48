// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <idem/error.h>
#include <idem/session.h>

namespace soci {  // SOCI's own: this header includes none of it
class session;
class connection_pool;
}  // namespace soci

namespace idem::inline v1 {
class transaction;
}
namespace idem::inline v1::sqlite {
struct options;
}
namespace idem::inline v1::postgresql {
struct options;
}

/// For those who write SQL with SOCI (4.0.3 or newer): their own session or pool, their effect in
/// plain SOCI, one transaction. The protocol speaks to the driver's handle inside the
/// `::soci::session`; both see the same transaction. For SOCI's backends "sqlite3" and
/// "postgresql", each where idem's component of that engine is built.
///
///     ::soci::connection_pool connections(8);            // each opened
///     idem::soci::pool_source source(connections);
///     auto store = idem::store::open(source).value();
///     store.run(source, request, idem::soci::effect([&](::soci::session& sql) {
///       sql << "UPDATE account SET balance = balance - :n", ::soci::use(amount);
///       return idem::response{200, {}, "done"};
///     }));
///
/// The handle is asked for anew at every call and never kept past a transaction. What an effect
/// does to the connection is noticed: a session that it closed or reconnected, or that a failover
/// callback connected anew, is `transaction_replaced`; on PostgreSQL `run` then starts again.
///
/// On SQLite `run` begins with BEGIN IMMEDIATE; `::soci::session::begin` is a deferred BEGIN, which
/// may have to give up at its first write. An effect that reconnects an SQLite session leaves
/// its old handle open (without a lock): SOCI cannot close it while idem's statements are on it.
namespace idem::inline v1::soci {

/// A session over one that the caller owns, keeps longer than this and uses in one thread at a
/// time. An effect gets the `::soci::session` back by `session_of`. Between transactions the caller
/// may reconnect it. Nothing is changed on it, and nothing reset for the next user, but a
/// transaction left open (by anyone) is rolled back by `reset`.
///
/// With `transaction::adopt(*session)` an operation takes part in the caller's own
/// `::soci::transaction`: `store::claim`, SQL in SOCI, `store::complete`, and the caller commits.
/// SOCI does not look at what COMMIT was answered: on PostgreSQL the COMMIT of a transaction in
/// which a statement failed is a ROLLBACK and throws nothing. So do not commit after an error.
/// With `transaction::begin(*session)` take the `::soci::session` from `session_of`: BEGIN is sent
/// with the first statement, or by that.
/// Errors: `connection_failed` (it is not open), `unsupported` (another backend).
[[nodiscard]] result<std::unique_ptr<session>> adopt(::soci::session&);

/// The `::soci::session` under a session from here, through any wrapper that passes `native_handle`
/// on. Null for any other.
::soci::session* find_session(session&) noexcept;

/// The `::soci::session` of the effect's transaction, to write SQL with. Not to be committed,
/// rolled back, closed or reconnected there. Throws `std::bad_expected_access<error>` for a
/// transaction on another kind of session.
::soci::session& session_of(transaction const&);

namespace detail {

/// To be called in a handler: has a `soci_error` judged by its SQLSTATE or SQLite's code.
void note_exception(transaction const&) noexcept;

template <class F>
class effect_of {
 public:
  explicit effect_of(F f) : f_(std::move(f)) {}
  auto operator()(transaction& tx) { return call(f_, tx); }
  auto operator()(transaction& tx) const
    requires std::invocable<F const&, ::soci::session&>
  {
    return call(f_, tx);
  }

 private:
  template <class G>
  static std::invoke_result_t<G&, ::soci::session&> call(G& f, transaction& tx) {
    auto& sql = session_of(tx);
    try {
      return f(sql);
    } catch (...) {
      note_exception(tx);
      throw;
    }
  }

  F f_;
};

}  // namespace detail

/// Makes an effect of a function that takes a `::soci::session&` and returns what an effect may.
///
/// A `soci_error` that it throws is judged by its code with the rules of the engine's dialect: a
/// serialization failure, a deadlock, a lost connection start the operation again; every other
/// exception, and this one after the last attempt, rolls back and passes through unchanged.
/// (SOCI's own categories call a serialization failure "unknown".)
///
/// An error that the function catches itself stays its own affair, unless it left the transaction
/// unusable, as every error does on PostgreSQL.
template <class F>
  requires std::invocable<std::decay_t<F>&, ::soci::session&>
auto effect(F&& f) {
  return detail::effect_of<std::decay_t<F>>(std::forward<F>(f));
}

/// Sessions of a `::soci::connection_pool`, which must be open and outlive this. Thread-safe.
///
/// SOCI's pool lends what it was given back: idle sessions, open transactions, dead connections.
/// Here a session is cleaned before its use (a transaction that someone left open is rolled back,
/// a dead connection made anew), and before it is given back: rolled back, or reconnected if the
/// connection is lost, in an unknown state or has a cancel on its way. If that fails it is given
/// back closed and tried again at its next use. Settings that an effect made with SET stay.
///
/// `acquire` waits for a free session until the deadline. SOCI does not tell a pool's size: an
/// effect that itself calls `run` on the pool waits, without a deadline for ever, where none is
/// left. In a pool of one a COMMIT in doubt can be found out only by reconnecting, which is done.
/// SOCI takes no deadline for connecting: use the backend's (`connect_timeout`).
class pool_source final : public session_source {
 public:
  explicit pool_source(::soci::connection_pool&);
  ~pool_source() override;

  [[nodiscard]] result<session*> acquire(call_limits const&) override;
  void release(session*, bool reusable) noexcept override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A source of one session that the caller owns and keeps longer. It must be idle when an operation
/// begins: no open transaction, nothing unread (`session_not_idle`). It is never reconnected here,
/// since the caller's prepared statements would be lost: after a lost connection every call is
/// `connection_lost` until the caller reconnects it (on SQLite: and makes a new source), and an
/// answer lost at COMMIT stays in doubt for `store::resolve` on another connection.
class lone_source final : public session_source {
 public:
  explicit lone_source(::soci::session&);
  ~lone_source() override;

  [[nodiscard]] result<session*> acquire(call_limits const&) override;
  void release(session*, bool reusable) noexcept override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Opens a `::soci::session` and adopts it; it lives as long as the session, whose `reset` puts its
/// settings back as <idem/sqlite.h> and <idem/postgresql.h> say. URLs are
/// those of `sqlite::parse_url` and `postgresql::parse_url` with `sqlite+soci:` and
/// `postgresql+soci:` before them. What is wrong is found out with a connection of idem's own: on
/// SQLite before SOCI's, on PostgreSQL if SOCI has none. SOCI is given whole seconds for the
/// limits. Errors: those of the engine's `parse_url` and `connect`; `configuration` for a scheme
/// without a component and for a value that SOCI's connection string cannot hold.
[[nodiscard]] result<std::unique_ptr<session>> connect(std::string_view url,
                                                       call_limits const& = {});

/// The same from options. There only with the component of that engine.
[[nodiscard]] result<std::unique_ptr<session>> connect(sqlite::options const&,
                                                       call_limits const& = {});
[[nodiscard]] result<std::unique_ptr<session>> connect(postgresql::options const&,
                                                       call_limits const& = {});

/// The SOCI that the program was compiled with: "SOCI 4.0.3".
std::string_view driver_version() noexcept;

}  // namespace idem::inline v1::soci
