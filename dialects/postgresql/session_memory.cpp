// SPDX-License-Identifier: BSL-1.0
#include "dialects/postgresql/session_memory.h"

#include <algorithm>
#include <array>
#include <utility>

namespace idem::inline v1::postgresql::detail {

namespace {

// Beyond it statements are sent unprepared: texts made anew each time would fill the server.
constexpr std::size_t max_statements = 256;

// Commands whose effect can outlive the transaction.
constexpr std::array<std::string_view, 10> tags_that_change{
    "SET",     "RESET",          "DISCARD ALL", "DEALLOCATE", "DEALLOCATE ALL",
    "PREPARE", "DECLARE CURSOR", "LISTEN",      "DO",         "CALL"};

// And words of statements whose tags do not tell: set_config, temporary tables, session locks.
constexpr std::array<std::string_view, 6> words_that_change{
    "set_config", "advisory_lock", " temp", "\ttemp", "\ntemp", "pg_temp"};

}  // namespace

// libpq passes no errors of a procedure on: nothing may be thrown through it.
int connection_memory::on_event(PGEventId what, void* info, void*) {
  auto const memory = [](PGconn* conn) {
    return static_cast<connection_memory*>(PQinstanceData(conn, &connection_memory::on_event));
  };
  try {
    switch (what) {
      case PGEVT_RESULTCREATE: {
        auto const& made = *static_cast<PGEventResultCreate*>(info);
        if (auto* m = memory(made.conn)) m->see(made.result);
        break;
      }
      case PGEVT_CONNRESET:
        if (auto* m = memory(static_cast<PGEventConnReset*>(info)->conn)) m->forget_statements();
        break;
      case PGEVT_CONNDESTROY:
        delete memory(static_cast<PGEventConnDestroy*>(info)->conn);
        break;
      default:
        break;
    }
  } catch (...) {
    return 0;
  }
  return 1;
}

connection_memory* connection_memory::of(PGconn* conn) {
  auto* memory = static_cast<connection_memory*>(PQinstanceData(conn, &on_event));
  if (memory == nullptr) {
    PQregisterEventProc(conn, &on_event, "idem", nullptr);
    auto made = std::make_unique<connection_memory>();
    if (PQsetInstanceData(conn, &on_event, made.get()) == 0) return nullptr;
    memory = made.release();
  }
  if (memory->names_lost_ || memory->server_process_ != PQbackendPID(conn)) {
    memory->names_lost_ = false;
    memory->forget_statements();
    memory->server_process_ = PQbackendPID(conn);
  }
  return memory;
}

void connection_memory::see(PGresult const* r) {
  if (char const* state = PQresultErrorField(r, PG_DIAG_SQLSTATE)) {
    // 25P02 only repeats that another failed before.
    if (std::string_view(state) != "25P02") last_failure_ = state;
    return;
  }
  std::string_view const tag(PQcmdStatus(const_cast<PGresult*>(r)));
  if (tag == "DISCARD ALL" || tag == "DEALLOCATE ALL") names_lost_ = true;
  if (std::ranges::find(tags_that_change, tag) != tags_that_change.end()) settings_changed_ = true;
}

prepared_statement* connection_memory::find(std::string_view sql, byte_mask bytes, int parameters) {
  auto const known = statements_.find(sql);
  if (known == statements_.end()) return nullptr;
  for (auto const& one : known->second)
    if (one->bytes == bytes && one->parameters == parameters) return one.get();
  return nullptr;
}

prepared_statement* connection_memory::add(std::string_view sql, byte_mask bytes, int parameters) {
  if (count_ >= max_statements) return nullptr;
  auto made = std::make_unique<prepared_statement>();
  made->bytes = bytes;
  made->name = "idem_" + std::to_string(++last_name_);
  made->parameters = parameters;
  auto& variants = statements_[std::string(sql)];
  variants.push_back(std::move(made));
  ++count_;
  return variants.back().get();
}

void connection_memory::note_text(std::string_view sql) noexcept {
  auto const equal = [](char a, char b) { return a == b || (a | 0x20) == b; };
  for (auto const word : words_that_change)
    if (!std::ranges::search(sql, word, equal).empty()) settings_changed_ = true;
}

void connection_memory::forget_statements() {
  statements_.clear();
  count_ = 0;
}

}  // namespace idem::inline v1::postgresql::detail
