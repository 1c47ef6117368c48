// SPDX-License-Identifier: BSL-1.0
// The code of "With SOCI" in docs/guide.md: soci [postgresql://...]. Without a URL on an SQLite
// file in the working directory. Exits with 0 if everything came out as the guide says.
#include <idem/schema.h>
#include <idem/soci.h>
#include <idem/store.h>
#include <soci/soci.h>

#include <cstdlib>
#include <iostream>
#include <string>

#if IDEM_HAS_POSTGRESQL
#include <soci/postgresql/soci-postgresql.h>
#endif
#if IDEM_HAS_SQLITE
#include <soci/sqlite3/soci-sqlite3.h>
#endif

namespace {

void expect(bool ok, char const* what) {
  if (ok) return;
  std::cerr << "not as the guide says: " << what << "\n";
  std::exit(1);
}

void open_session(soci::session& sql, std::string const& url) {
#if IDEM_HAS_POSTGRESQL
  // An option, since SOCI 4.0 appends '=' to a URI without one.
  if (!url.empty()) return sql.open(soci::postgresql, url + "?application_name=idem");
#endif
#if IDEM_HAS_SQLITE
  sql.open(soci::sqlite3, "dbname=soci.db");
#endif
}

int balance_of(soci::session& sql, int account) {
  int balance = 0;
  sql << "SELECT balance FROM soci_account WHERE id = :id", soci::use(account), soci::into(balance);
  return balance;
}

void run_over_a_pool(std::string const& url, idem::request const& request) {
  int const account = 7;
  int const amount = 30;
  // [soci]
  soci::connection_pool connections(4);
  for (std::size_t i = 0; i < 4; ++i) open_session(connections.at(i), url);
  idem::soci::pool_source source(connections);
  auto const store = idem::store::open(source, {.prefix = "soci_"}).value();

  auto const debit = idem::soci::effect([&](soci::session& sql) {
    sql << "UPDATE soci_account SET balance = balance - :n WHERE id = :id", soci::use(amount),
        soci::use(account);
    return idem::response{201, {}, "debited"};
  });
  auto const outcome = store.run(source, request, debit);
  // [soci]
  expect(outcome && std::holds_alternative<idem::executed>(*outcome), "the first call executes");
  auto const again = store.run(source, request, debit);
  expect(again && std::holds_alternative<idem::replayed>(*again), "the second call replays");
  expect(balance_of(connections.at(0), account) == 70, "one debit");
}

void in_a_transaction_of_soci(std::string const& url, idem::request const& request) {
  int const account = 7;
  // [soci_claim]
  soci::session sql;
  open_session(sql, url);
  auto const session = idem::soci::adopt(sql).value();
  auto const store = idem::store::open(*session, {.prefix = "soci_"}).value();

  soci::transaction mine(sql);
  auto tx = idem::transaction::adopt(*session).value();
  auto claimed = store.claim(tx, request).value();
  if (auto* token = std::get_if<idem::claim_token>(&claimed)) {
    sql << "UPDATE soci_account SET balance = balance + 5 WHERE id = :id", soci::use(account);
    store.complete(tx, std::move(*token), {200, {}, "refunded"}).value();
  }
  mine.commit();
  // [soci_claim]
  expect(balance_of(sql, account) == 75, "one refund");
}

}  // namespace

int main(int argc, char** argv) {
  std::string const url = argc > 1 ? argv[1] : "";
  soci::session sql;
  open_session(sql, url);
  sql << "DROP TABLE IF EXISTS soci_account";
  sql << "CREATE TABLE soci_account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)";
  sql << "INSERT INTO soci_account VALUES (7, 100)";
  idem::schema::install(*idem::soci::adopt(sql).value(), {"", "soci_"}).value();
  sql << "DELETE FROM soci_record";
  auto const named = [](char const* operation) {
    return idem::request::from_bytes({"tenant-7", operation, "order-4711"}, "30").value();
  };
  run_over_a_pool(url, named("debit:v1"));
  for (int i = 0; i < 2; ++i) in_a_transaction_of_soci(url, named("refund:v1"));
  std::cout << "as the guide says, with " << idem::soci::driver_version() << "\n";
}
