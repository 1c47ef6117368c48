// SPDX-License-Identifier: BSL-1.0
// The README's example. Run it twice: the second time it replays.
#include <idem/schema.h>
#include <idem/sqlite.h>
#include <idem/store.h>

#include <iostream>

// [readme]
idem::store prepare(idem::session_source& pool) {
  auto session = idem::session_lease::acquire(pool, {}).value();  // given back at the end
  idem::schema::install(*session, {}).value();                    // or `idem schema install`
  auto account = idem::transaction::begin(*session).value();
  account.execute("CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, pence INTEGER)")
      .value();
  account.execute("INSERT INTO account VALUES (1, 500) ON CONFLICT DO NOTHING").value();
  account.commit().value();
  return idem::store::open(*session).value();
}

int main() try {
  // One session for each thread that runs operations: here, one.
  auto pool = idem::sqlite::open_pool("sqlite:bank.db", 1).value();
  auto store = prepare(*pool);

  auto request = idem::request::from_json({"tenant-7", "debit:v1", "order-4711"},
                                          R"({"account": 1, "pence": 100})")
                     .value();
  auto debit = [](idem::transaction& tx) -> idem::result<idem::answer> {
    auto rows = tx.execute(
        "UPDATE account SET pence = pence - ? WHERE id = ? AND pence >= ? RETURNING pence",
        {100, 1, 100});
    if (!rows) return std::unexpected(rows.error());
    if (rows->empty()) return idem::refusal{{402, {}, "insufficient funds"}};
    return idem::response{200, {}, std::to_string(idem::as_integer((*rows)[0][0]))};
  };

  for (int call = 0; call < 2; ++call) {
    idem::outcome outcome = store.run(*pool, request, debit).value();
    if (auto* done = std::get_if<idem::executed>(&outcome))
      std::cout << "executed: " << done->response.body.value() << " left\n";
    if (auto* again = std::get_if<idem::replayed>(&outcome))
      std::cout << "replayed: " << again->response.body.value() << " left\n";
  }
} catch (std::bad_expected_access<idem::error> const& e) {
  std::cerr << idem::describe(e.error()) << "\n";
  return 1;
}
// [readme]
