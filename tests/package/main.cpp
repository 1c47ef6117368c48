// SPDX-License-Identifier: BSL-1.0
// One request, run twice on an SQLite file. Prints what became of each run and the rows that are
// there afterwards.
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include <idem/schema.h>
#include <idem/sqlite.h>
#include <idem/store.h>

namespace {

void must(idem::result<> const& done) {
  if (!done) throw std::runtime_error(idem::describe(done.error()));
}

template <class T>
T must(idem::result<T> made) {
  if (!made) throw std::runtime_error(idem::describe(made.error()));
  return std::move(*made);
}

void run(std::string const& path) {
  idem::sqlite::options const file{.path = path};
  auto const session = must(idem::sqlite::connect(file));
  must(idem::schema::install(*session, {}));
  {
    auto tx = must(idem::transaction::begin(*session));
    must(tx.execute("CREATE TABLE paid (amount INTEGER)"));
    must(tx.commit());
  }

  auto const pool = idem::sqlite::pool(file);
  auto const store = must(idem::store::open(*pool));
  auto const request = must(idem::request::from_json(
      {.scope = "shop", .operation = "pay:v1", .key = "order-1"}, R"({"amount": 5})"));
  auto const pay = [](idem::transaction& tx) -> idem::result<idem::response> {
    auto paid = tx.execute("INSERT INTO paid (amount) VALUES (?)", {5});
    if (!paid) return std::unexpected(paid.error());
    return idem::response{.status = 201};
  };
  for (int call = 0; call < 2; ++call) {
    auto const outcome = must(store.run(*pool, request, pay));
    std::cout << (std::holds_alternative<idem::executed>(outcome)   ? "executed\n"
                  : std::holds_alternative<idem::replayed>(outcome) ? "replayed\n"
                                                                    : "something else\n");
  }
  auto tx = must(idem::transaction::begin(*session));
  auto const rows = must(tx.execute("SELECT amount FROM paid"));
  std::cout << "rows: " << rows.size() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: client FILE");
    run(argv[1]);
    return 0;
  } catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
