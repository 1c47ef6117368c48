// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <idem/soci.h>
#include <idem/transaction.h>

namespace soci {
class soci_error;
}

namespace idem::inline v1::soci::detail {

/// idem's own session on the handle that SOCI had when it was opened.
struct native_part {
  std::unique_ptr<session> port;
  void* handle = nullptr;
  std::uint64_t incarnation = 0;
  bool left_behind = false;  ///< the SOCI session has another handle, or none
};

/// What differs between SOCI's backends. A value.
struct engine {
  std::string_view soci_name;  ///< what `get_backend_name` says
  std::string_view scheme;     ///< of a URL, with "+soci"
  dialect const& (*dialect_value)() noexcept;
  /// The driver's handle that the session has now; null if it is closed.
  void* (*handle)(::soci::session&);
  /// Changes when the same handle gets another connection, or another handle the same address.
  std::uint64_t (*incarnation)(void* handle);
  /// Opens the port on the part's handle. The port does not outlive the connection: whoever ends
  /// that closes it.
  void (*attach)(native_part&);
  void (*detach)(native_part&) noexcept;
  /// Destroys a session of ours with whatever its users left on it.
  void (*close)(std::unique_ptr<::soci::session>) noexcept;
  /// The code of an exception of this backend.
  std::optional<native_error> (*code_of)(::soci::soci_error const&);
  result<std::unique_ptr<session>> (*connect)(std::string_view url, call_limits const&);
  /// The port stays between transactions. If not, nothing of ours is on an idle handle.
  bool keeps_port;
  /// The port can keep commits to itself as long as the connection is the same.
  bool guards_commit;
  /// What to do when the connection was replaced in a transaction.
  advice replaced;
};

#if IDEM_HAS_SQLITE
extern engine const sqlite_engine;
#endif
#if IDEM_HAS_POSTGRESQL
extern engine const postgresql_engine;
#endif

/// The engine whose member is that text; null if it is not built.
engine const* find_engine(std::string_view engine::* member, std::string_view text) noexcept;

/// Puts the settings of a session of ours back as they were when it was opened. May throw.
using restorer = std::function<void(::soci::session&)>;

/// The port over the handle inside a `::soci::session`.
class soci_session final : public session {
 public:
  soci_session(::soci::session&, engine const&);
  soci_session(std::unique_ptr<::soci::session>, engine const&, restorer);
  ~soci_session() override;

  dialect const& sql() const noexcept override { return engine_->dialect_value(); }
  result<transaction_status> status() override;
  result<> begin(begin_options const&) override;
  result<> commit(std::span<statement const> last, call_limits const&) override;
  result<> rollback() noexcept override;
  result<std::vector<rows>> execute(std::span<statement const>, call_limits const&) override;
  result<whole_answer> run_whole(whole_transaction const&, call_limits const&) override;
  result<> reset() noexcept override;
  void* native_handle() noexcept override;
  std::optional<error> pending_error() noexcept override;
  bool guards_commit() const noexcept override {
    return guarded_ && (!begun_ || (is_current() && part_.port->guards_commit()));
  }
  std::string one_writer_of() override;

  ::soci::session& lent() const noexcept { return *sql_; }
  /// What an effect threw: remembered if the operation has to start again because of it.
  void note(::soci::soci_error const&);
  /// A cancel may still hit whatever comes next on this connection.
  bool cancelled() const noexcept { return cancelled_; }
  std::uint64_t incarnation();

 private:
  result<session*> port();
  bool is_current() const;
  void settle() noexcept;
  void note_patience(call_limits const&) noexcept;
  void close_part() noexcept;

  std::unique_ptr<::soci::session> owned_;  // destroyed after all that uses it
  restorer restore_;
  ::soci::session* sql_;
  engine const* engine_;
  native_part part_;
  std::optional<error> noted_;
  bool begun_ = false;
  bool guarded_;  ///< of the last transaction, when it has ended
  bool cancelled_ = false;
};

/// Errors: as `adopt`.
result<std::unique_ptr<soci_session>> make_session(::soci::session&);
result<std::unique_ptr<session>> make_session(std::unique_ptr<::soci::session>, engine const&,
                                              restorer);

std::unexpected<error> refuse(errc, phase, advice, std::string message);

}  // namespace idem::inline v1::soci::detail
