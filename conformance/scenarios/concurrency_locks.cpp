// SPDX-License-Identifier: BSL-1.0
// CON-14: a lock by name (where idem takes one: while it installs its tables) ends with its
// transaction or its session.
#include <future>
#include <utility>

#include <idem/schema.h>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/concurrency_parts.h"
#include "conformance/scenarios/rollback_parts.h"

namespace idem::inline v1::conformance {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Another session keeps an installer waiting while it has its lock.
class held_schema {
 public:
  explicit held_schema(context& c) : context_(c), holder_(c.connect()) {
    c.must(c.engine().hold_schema(holder_), "another session holds the tables");
  }
  held_schema(held_schema const&) = delete;
  held_schema& operator=(held_schema const&) = delete;
  ~held_schema() {
    auto const released = context_.engine().release_lock(holder_);
    context_.check(released.has_value(), "the tables are released");
  }

 private:
  context& context_;
  session& holder_;
};

std::future<result<>> install(context& c, session& s, milliseconds wait) {
  return std::async(std::launch::async, [&c, &s, wait] {
    call_limits limits;
    limits.wait_limit = wait;
    return schema::install(s, c.engine().names(), limits);
  });
}

std::int64_t locks_of(context& c, session& s) {
  return c.must(c.engine().named_locks(s), "the server shows its locks");
}

bool await_lock(context& c, session& s) {
  return c.await([&] { return c.engine().named_locks(s).value_or(0) > 0; }, seconds(5));
}

void ends_with_its_transaction(context& c) {
  auto& s = c.connect();
  {
    held_schema const held(c);
    auto installing = install(c, s, milliseconds(1500));
    if (c.check(await_lock(c, s), "the server shows the installer's lock")) c.mark("lock_seen");
    auto const installed = installing.get();
    c.check(!installed && installed.error().what == errc::lock_timeout,
            "the installer gives up in time");
    c.check(locks_of(c, s) == 0, "its lock is gone with its transaction");
    check_idle(c, s, "after the failed installation");
  }
  auto const installed = schema::install(s, c.engine().names());
  c.check(installed.has_value(), "the next installation succeeds");
  c.check(locks_of(c, s) == 0, "and leaves no lock");
  check_idle(c, s, "after the installation");
}

void ends_with_its_session(context& c) {
  auto const s = c.idem().adapt(c.must(c.engine().connect(), "a session is opened"));
  {
    held_schema const held(c);
    auto installing = install(c, *s, seconds(20));
    c.check(await_lock(c, *s), "the server shows the installer's lock");
    c.must(c.engine().kill_session(*s), "the server ends the installer");
    auto const installed = installing.get();
    c.check(!installed && installed.error().what == errc::connection_lost,
            "the installation is lost with its session");
    if (c.check(locks_of(c, *s) == 0, "its lock is gone")) c.mark("lock_gone_after_kill");
  }
  auto& another = c.connect();
  auto const installed = schema::install(another, c.engine().names());
  c.check(installed.has_value(), "another session's installation succeeds");
}

// The operation itself takes none.
void operation_takes_none(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("no lock by name");
  std::int64_t inside = -1;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    inside = c.engine().named_locks(s).value_or(-1);
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(c.response_with(std::move(*nonce)));
  });
  check_executed(c, called, "a call");
  c.check(inside == 0, "an operation takes no lock by name, so that a pooler cannot lose it");
  c.check_stored(op, 1, true);
}

}  // namespace

void named_locks_end(context& c) {
  operation_takes_none(c);
  ends_with_its_transaction(c);
  ends_with_its_session(c);
}

// An engine whose dialect has no statement for such a lock takes none.
void no_named_locks(context& c) {
  auto& s = c.connect();
  c.check(s.sql().schema.lock.empty(), "idem takes no lock by name on this engine");
  c.check(!c.engine().named_locks(s), "and the engine has none to show");
  c.check(schema::install(s, c.engine().names()).has_value(), "the tables are installed again");
  check_idle(c, s, "after the installation");
  auto const op = c.make_operation("no lock by name");
  auto const called = c.run(s, op);
  check_executed(c, called, "a call");
  check_replayed(c, c.run(s, op), called, "the next call");
  c.check_stored(op, 1, true);
}

}  // namespace idem::inline v1::conformance
