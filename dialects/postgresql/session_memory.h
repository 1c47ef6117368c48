// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <libpq-events.h>
#include <libpq-fe.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dialects/postgresql/session_values.h"

namespace idem::inline v1::postgresql::detail {

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const noexcept {
    return std::hash<std::string_view>()(s);
  }
};

/// A statement that the server knows by name.
struct prepared_statement {
  byte_mask bytes = 0;
  std::string name;
  int parameters = 0;
  bool binary_answer = false;  ///< all columns can be read in the binary format
  bool confirmed = false;      ///< the server has said so
};

/// What is known of one connection to one server process. Belongs to the PGconn and lives as long
/// as it, however many sessions adopt it: a libpq event procedure keeps it.
/// https://www.postgresql.org/docs/15/libpq-events.html
class connection_memory {
 public:
  /// The memory of a connection, made at its first use; emptied when libpq or whoever adopted the
  /// handle reached another server process. Null only if memory is short.
  static connection_memory* of(PGconn*);

  /// The statement with such parameters, if the server may know it.
  prepared_statement* find(std::string_view sql, byte_mask, int parameters);
  /// A name for a statement that `find` has not found; null if it is to be sent unprepared. The
  /// pointer holds until `forget_statements`.
  prepared_statement* add(std::string_view sql, byte_mask, int parameters);
  /// The server has lost its names, or one of them is taken: new ones.
  void forget_statements();

  /// The SQLSTATE of the last error that any call on the connection met, the effect's own too.
  std::string const& last_failure() const noexcept { return last_failure_; }
  void clear_last_failure() noexcept { last_failure_.clear(); }
  /// Whether a command changed settings of the session (SET, RESET, …) since `clean`.
  bool settings_changed() const noexcept { return settings_changed_; }
  /// A text of an effect: one that calls set_config, makes temporary tables or takes session locks
  /// changes the session. A function that does is not seen.
  void note_text(std::string_view sql) noexcept;
  void clean() noexcept { settings_changed_ = false; }

 private:
  static int on_event(PGEventId, void* info, void* self);
  void see(PGresult const*);

  int server_process_ = 0;
  std::unordered_map<std::string, std::vector<std::unique_ptr<prepared_statement>>, text_hash,
                     std::equal_to<>>
      statements_;
  std::size_t count_ = 0;
  unsigned long last_name_ = 0;
  std::string last_failure_;
  bool settings_changed_ = false;
  bool names_lost_ = false;  ///< every prepared statement was deallocated
};

}  // namespace idem::inline v1::postgresql::detail
