// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <idem/soci.h>
#include <idem/store.h>
#include <soci/soci.h>

#include <memory>
#include <string>

namespace idem_test {

/// A database as a user of SOCI has it, with idem's tables and a ledger. What it looks at, it
/// looks at on a connection of its own.
class soci_bench {
 public:
  /// `name` is part of the tables' names: a test file's own.
  soci_bench(::soci::backend_factory const&, std::string connect_string, std::string const& name);

  std::unique_ptr<::soci::session> open() const;
  std::unique_ptr<::soci::connection_pool> pool(std::size_t) const;
  idem::store const& store() const { return *store_; }
  ::soci::session& observer() { return *observer_; }
  std::string const& ledger() const { return ledger_; }

  /// Committed rows of the ledger.
  int rows();
  void write(::soci::session&, std::string const& note) const;

  /// An effect that counts its calls, does `first`, if given, and writes a row.
  template <class First>
  auto effect(int& calls, First first) const {
    return idem::soci::effect([this, &calls, first](::soci::session& sql) {
      ++calls;
      first(sql);
      write(sql, "effect");
      return idem::response{201, {}, "done"};
    });
  }
  auto effect(int& calls) const {
    return effect(calls, [](::soci::session&) {});
  }

 private:
  ::soci::backend_factory const* factory_;
  std::string connect_string_;
  std::string ledger_;
  std::unique_ptr<::soci::session> observer_;
  std::unique_ptr<idem::store> store_;
};

idem::request request_named(std::string const& key);

/// The outcome is of that kind; else the test fails and says what it is.
template <class Kind>
bool is(idem::result<idem::outcome> const& r) {
  return r && std::holds_alternative<Kind>(*r);
}
std::string told(idem::result<idem::outcome> const&);

}  // namespace idem_test
