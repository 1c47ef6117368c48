// SPDX-License-Identifier: BSL-1.0
// SOCI's backend "sqlite3". Its header wraps sqlite3.h in a namespace of its own, so no other part
// of this file may include that.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <idem/sqlite.h>
#include <idem/url.h>

#include "dialects/soci/session_impl.h"

namespace idem::inline v1::soci {

namespace detail {

namespace {

// A dynamic_cast would need the backend's type information, which its library does not export:
// whoever gets here has looked at the name.
void* handle_of(::soci::session& sql) {
  auto* const backend = sql.get_backend();
  if (backend == nullptr || backend->get_backend_name() != sqlite_engine.soci_name) return nullptr;
  return static_cast<::soci::sqlite3_session_backend*>(backend)->conn_;
}

// As long as the port has a statement on the handle, and it has in a transaction, sqlite3_close
// refuses to close it: no new handle can have its address.
// https://sqlite.org/c3ref/close.html
std::uint64_t incarnation_of(void*) { return 1; }

// SOCI uses no hooks.
void attach(native_part& part) {
  part.port = sqlite::adopt(static_cast<::sqlite3*>(part.handle), sqlite::hooks::session);
}

// A handle that SOCI has left for another, or for none, is still open, since the port had
// statements on it: SOCI's sqlite3_close was refused, and nobody else knows of it.
void detach(native_part& part) noexcept {
  part.port.reset();
  if (part.left_behind) sqlite_api::sqlite3_close(static_cast<sqlite_api::sqlite3*>(part.handle));
}

// Statements that an effect did not finalize: sqlite3_close refuses with them, and SOCI goes on.
// One that runs would keep its locks too. https://sqlite.org/c3ref/close.html
void close(std::unique_ptr<::soci::session> sql) noexcept {
  using namespace sqlite_api;
  auto* const db = static_cast<sqlite_api::sqlite3*>(handle_of(*sql));
  bool const stays = db != nullptr && sqlite3_next_stmt(db, nullptr) != nullptr;
  sql.reset();
  if (!stays) return;
  for (auto* s = sqlite3_next_stmt(db, nullptr); s != nullptr; s = sqlite3_next_stmt(db, s))
    sqlite3_reset(s);
  sqlite3_close_v2(db);
}

std::optional<native_error> code_of(::soci::soci_error const& thrown) {
  auto const* e = dynamic_cast<::soci::sqlite3_soci_error const*>(&thrown);
  if (e == nullptr) return std::nullopt;
  return native_error{{}, e->result(), e->get_error_message()};
}

// A value in double quotes ends at the next one.
std::string connect_string(sqlite::options const& o) {
  bool const in_memory = !o.memory_name.empty();
  std::string const path = o.path.starts_with('/') ? o.path : "./" + o.path;
  std::string text = "dbname=\"" + (in_memory ? "/idem-" + o.memory_name : path) + "\"";
  if (in_memory) text += " vfs=memdb";
  if (o.mode == sqlite::open_mode::read_only) text += " readonly=1";
  return text;
}

void apply(::soci::session& sql, sqlite::options const& o) {
  using sqlite::durability;
  using sqlite::setting;
  constexpr std::pair<durability, char const*> levels[] = {
      {durability::off, "PRAGMA synchronous = OFF"},
      {durability::normal, "PRAGMA synchronous = NORMAL"},
      {durability::full, "PRAGMA synchronous = FULL"},
      {durability::extra, "PRAGMA synchronous = EXTRA"}};
  for (auto const& [level, pragma] : levels)
    if (o.synchronous == level) sql << pragma;
  if (o.foreign_keys == setting::on) sql << "PRAGMA foreign_keys = ON";
  if (o.foreign_keys == setting::off) sql << "PRAGMA foreign_keys = OFF";
  sql << "PRAGMA busy_timeout = " << o.busy.count();
}

int setting_of(::soci::session& sql, char const* pragma) {
  int value = 0;
  sql << pragma, ::soci::into(value);
  return value;
}

// As a session of <idem/sqlite.h> is reset.
restorer restorer_of(::soci::session& opened) {
  int const synchronous = setting_of(opened, "PRAGMA synchronous");
  int const foreign_keys = setting_of(opened, "PRAGMA foreign_keys");
  return [synchronous, foreign_keys](::soci::session& sql) {
    sql << "PRAGMA query_only = OFF";
    sql << "PRAGMA ignore_check_constraints = OFF";
    sql << "PRAGMA synchronous = " << synchronous;
    sql << "PRAGMA foreign_keys = " << foreign_keys;
  };
}

result<std::unique_ptr<session>> connect_url(std::string_view url, call_limits const& limits) {
  auto options = sqlite::parse_url("sqlite" + std::string(url.substr(url.find(':'))));
  if (!options) return std::unexpected(std::move(options).error());
  return soci::connect(*options, limits);
}

}  // namespace

engine const sqlite_engine{
    .soci_name = "sqlite3",
    .scheme = "sqlite+soci",
    .dialect_value = sqlite::dialect_value,
    .handle = handle_of,
    .incarnation = incarnation_of,
    .attach = attach,
    .detach = detach,
    .close = close,
    .code_of = code_of,
    .connect = connect_url,
    .keeps_port = false,
    .guards_commit = true,
    .replaced = advice::never,
};

}  // namespace detail

result<std::unique_ptr<session>> connect(sqlite::options const& o, call_limits const& limits) {
  // It also sets the journal mode, and keeps a database in memory until SOCI has opened it.
  auto const first = sqlite::connect(o, limits);
  if (!first) return std::unexpected(first.error());
  if (o.path.contains('"'))
    return detail::refuse(errc::configuration, phase::connect, advice::never,
                          "SOCI cannot open a file with '\"' in its path: rename it");
  try {
    auto sql = std::make_unique<::soci::session>(::soci::sqlite3, detail::connect_string(o));
    detail::apply(*sql, o);
    auto restore = detail::restorer_of(*sql);
    return detail::make_session(std::move(sql), detail::sqlite_engine, std::move(restore));
  } catch (::soci::soci_error const& thrown) {
    auto failed = detail::refuse(errc::connection_failed, phase::connect, advice::never,
                                 "SOCI cannot open the database that SQLite could");
    failed.error().native.message = thrown.get_error_message();
    return failed;
  }
}

}  // namespace idem::inline v1::soci
