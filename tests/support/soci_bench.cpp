// SPDX-License-Identifier: BSL-1.0
#include "tests/support/soci_bench.h"

#include <idem/schema.h>

namespace idem_test {

soci_bench::soci_bench(::soci::backend_factory const& factory, std::string connect_string,
                       std::string const& name)
    : factory_(&factory),
      connect_string_(std::move(connect_string)),
      ledger_(name + "_ledger"),
      observer_(open()) {
  auto& sql = *observer_;
  sql << "DROP TABLE IF EXISTS " << ledger_;
  sql << "CREATE TABLE " << ledger_ << " (note VARCHAR(200) NOT NULL)";
  auto const session = idem::soci::adopt(sql).value();
  idem::store_options options;
  options.prefix = name + "_";
  idem::schema::install(*session, {"", options.prefix}).value();
  store_ = std::make_unique<idem::store>(idem::store::open(*session, options).value());
  sql << "DELETE FROM " << options.prefix << "record";
}

std::unique_ptr<::soci::session> soci_bench::open() const {
  return std::make_unique<::soci::session>(*factory_, connect_string_);
}

std::unique_ptr<::soci::connection_pool> soci_bench::pool(std::size_t size) const {
  auto made = std::make_unique<::soci::connection_pool>(size);
  for (std::size_t i = 0; i < size; ++i) made->at(i).open(*factory_, connect_string_);
  return made;
}

int soci_bench::rows() {
  int count = -1;
  *observer_ << "SELECT count(*) FROM " << ledger_, ::soci::into(count);
  return count;
}

void soci_bench::write(::soci::session& sql, std::string const& note) const {
  sql << "INSERT INTO " << ledger_ << " (note) VALUES (:note)", ::soci::use(note);
}

idem::request request_named(std::string const& key) {
  return idem::request::from_bytes({"soci", "test:v1", key}, "content").value();
}

std::string told(idem::result<idem::outcome> const& r) {
  if (!r) return idem::describe(r.error());
  return "outcome " + std::to_string(r->index());
}

}  // namespace idem_test
