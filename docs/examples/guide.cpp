// SPDX-License-Identifier: BSL-1.0
// The code of docs/guide.md. Exits with 0 if everything came out as the guide says.
#include <idem/memory.h>
#include <idem/schema.h>
#include <idem/sqlite.h>
#include <idem/store.h>

#include <array>
#include <cstdlib>
#include <iostream>

namespace {

void expect(bool ok, char const* what) {
  if (ok) return;
  std::cerr << "not as the guide says: " << what << "\n";
  std::exit(1);
}

idem::store prepare(idem::session_source& pool) {
  auto session = idem::session_lease::acquire(pool, {}).value();
  idem::schema::install(*session, {}).value();
  return idem::store::open(*session).value();
}

void operation() {
  auto pool = idem::sqlite::open_pool("sqlite::memory:").value();
  auto const store = prepare(*pool);
  std::string_view const body = R"({"pence": 100, "sent_at": "2026-11-30T12:00:00Z"})";
  // [run]
  idem::json_options json;
  json.left_out = {"/sent_at"};  // changes with every retry: no part of the content
  auto request =
      idem::request::from_json({"tenant-7", "debit:v1", "order-4711"}, body, json).value();

  idem::run_options options;
  options.wait_limit = std::chrono::seconds(2);
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);

  auto effect = [](idem::transaction& tx) -> idem::result<idem::answer> {
    auto row = tx.execute("SELECT ? + 1", {41});
    if (!row) return std::unexpected(row.error());
    return idem::response{
        201, {{"content-type", "text/plain"}}, std::to_string(idem::as_integer((*row)[0][0]))};
  };
  auto outcome = store.run(*pool, request, effect, options);
  // [run]
  expect(outcome && std::holds_alternative<idem::executed>(*outcome), "the first call executes");
  auto again = store.run(*pool, request, effect, options);
  expect(again && std::holds_alternative<idem::replayed>(*again), "the second call replays");
}

void known_beforehand() {
  auto sessions_owner = idem::sqlite::open_pool("sqlite::memory:").value();
  auto& sessions = *sessions_owner;
  auto const store = prepare(sessions);
  {
    auto session = idem::session_lease::acquire(sessions, {}).value();
    idem::statement const table{"CREATE TABLE account (balance INTEGER)", {}};
    session->execute(std::span(&table, 1), {}).value();
  }
  auto const request =
      idem::request::from_bytes({"tenant-7", "debit:v1", "order-4711"}, "100").value();
  // [fixed]
  std::array<idem::parameter, 1> const amount{-100};
  std::array<idem::statement, 1> const statements{
      idem::statement{"UPDATE account SET balance = balance + ?", amount}};
  auto fixed = store.run_fixed(sessions, request, {statements, {200, {}, "debited"}});
  // [fixed]
  expect(fixed && std::holds_alternative<idem::executed>(*fixed), "the fixed effect is executed");
  auto again = store.run_fixed(sessions, request, {statements, {200, {}, "debited"}});
  expect(again && std::holds_alternative<idem::replayed>(*again), "the second call replays");
}

void own_transaction() {
  auto pool = idem::sqlite::open_pool("sqlite::memory:").value();
  auto const store = prepare(*pool);
  auto const request = idem::request::from_bytes({"tenant-7", "ship:v1", "order-4711"}, "").value();
  auto session = idem::session_lease::acquire(*pool, {}).value();
  std::vector<idem::attempt_id> attempts;
  // [claim]
  auto tx = idem::transaction::begin(*session).value();
  auto claimed = store.claim(tx, request).value();
  if (auto* token = std::get_if<idem::claim_token>(&claimed)) {
    tx.execute("CREATE TABLE shipped (id TEXT)").value();  // your writes, as many as you like
    attempts.push_back(store.complete(tx, std::move(*token), {200, {}, "shipped"}).value());
  }
  auto committed = tx.commit();
  // [claim]
  expect(committed.has_value(), "the transaction commits");
  auto other_session = idem::session_lease::acquire(*pool, {}).value();
  // [resolve]
  auto resolution = store.resolve(*other_session, request, attempts).value();
  bool const happened = std::holds_alternative<idem::resolved::executed>(resolution);
  // [resolve]
  expect(happened, "the attempt is found");
}

void without_a_database() {
  auto const request = idem::request::from_bytes({"tenant-7", "ship:v1", "order-4711"}, "").value();
  // [memory]
  auto database = std::make_shared<idem::memory::database>();
  auto pool = idem::memory::pool(database);
  auto store = prepare(*pool);  // schema::install and store::open, as with any engine
  auto effect = [](idem::transaction& tx) -> idem::result<idem::response> {
    auto written = idem::memory::append(tx, "shipments", "order-4711");
    if (!written) return std::unexpected(written.error());
    return idem::response{200, {}, "shipped"};
  };
  auto outcome = store.run(*pool, request, effect).value();
  // [memory]
  expect(std::holds_alternative<idem::executed>(outcome), "the in-memory engine executes");
  expect(database->committed_rows("shipments").size() == 1, "one row is committed");
}

}  // namespace

int main() {
  operation();
  known_beforehand();
  own_transaction();
  without_a_database();
  std::cout << "as the guide says\n";
}
