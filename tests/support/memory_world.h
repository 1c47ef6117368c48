// SPDX-License-Identifier: BSL-1.0
// A database in memory, a store in it and what tests do with them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <idem/memory.h>
#include <idem/schema.h>
#include <idem/store.h>

namespace idem_tests {

using namespace idem;
using namespace std::chrono_literals;
namespace mem = idem::memory;  // a suite is named memory, which is a namespace to Boost.Test

template <class T>
T must(result<T> r) {
  if (!r) throw std::runtime_error(describe(r.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

// Until it is so; a test that would wait for ever fails instead.
inline void await(std::function<bool()> const& so) {
  auto const end = std::chrono::steady_clock::now() + 20s;
  while (!so()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("awaited in vain");
    std::this_thread::yield();
  }
}

inline request make_request(std::string_view key, std::string_view body = "content") {
  return must(request::from_bytes({"tenant", "debit:v1", key}, body));
}

inline response ok(std::string body = "done") {
  return {200, {{"X", "1"}, {"X", ""}}, std::move(body)};
}

inline run_options with_wait(std::chrono::milliseconds wait) {
  run_options options;
  options.wait_limit = wait;
  return options;
}

struct counting_observer final : observer {
  std::atomic<int> retries{0}, deadlocks{0}, doubts{0};
  void on_retry(error const& e, std::chrono::milliseconds) override {
    ++retries;
    if (e.what == errc::deadlock) ++deadlocks;
  }
  void on_in_doubt(error const&) override { ++doubts; }
};

struct world {
  std::shared_ptr<mem::database> db = std::make_shared<mem::database>();
  std::unique_ptr<session_pool> sessions = mem::pool(db, 16);
  counting_observer seen;
  std::optional<store> opened;

  world() {
    must(schema::install(*mem::connect(db), {}));
    store_options options;
    options.observer = &seen;
    opened = must(store::open(*sessions, options));
  }
  store const& idem() const { return *opened; }

  result<outcome> debit(std::string_view key, run_options const& options = {}) {
    return idem().run(*sessions, make_request(key), debit_effect(std::string(key)), options);
  }
  static std::function<result<response>(transaction&)> debit_effect(std::string row) {
    return [row](transaction& tx) -> result<response> {
      if (auto wrote = mem::append(tx, "ledger", row); !wrote)
        return std::unexpected(wrote.error());
      if (auto sum = mem::add(tx, "balance", 1); !sum) return std::unexpected(sum.error());
      return ok(row);
    };
  }
  std::size_t ledger() const { return db->committed_rows("ledger").size(); }
  std::int64_t balance() const { return db->committed_counter("balance"); }
};

/// A transaction that has claimed a key and waits for a word.
struct holder {
  std::unique_ptr<session> own;
  std::optional<transaction> tx;
  std::optional<claim_token> token;

  holder(world& w, std::string_view key) : own(mem::connect(w.db)) {
    tx = must(transaction::begin(*own));
    token = std::get<claim_token>(must(w.idem().claim(*tx, make_request(key))));
  }
  void commit(world& w, std::string body) {
    must(w.idem().complete(*tx, std::move(*token), ok(std::move(body))));
    must(tx->commit());
  }
};

/// A run on a thread and a session of its own.
struct background_run {
  std::unique_ptr<session> own;
  result<outcome> answered;
  std::jthread thread;

  background_run(world& w, std::string key, run_options options = with_wait(1h))
      : own(mem::connect(w.db)), answered(in_progress{}) {
    thread = std::jthread([this, &w, key, options] {
      lone_session source(*own);
      answered = w.idem().run(source, make_request(key), world::debit_effect(key), options);
    });
  }
  void await_waiting() {
    await([this] { return mem::waiting(*own); });
  }
};

template <class T>
T const& get(result<outcome> const& o) {
  if (!o) throw std::runtime_error(describe(o.error()));
  return std::get<T>(*o);
}

}  // namespace idem_tests
