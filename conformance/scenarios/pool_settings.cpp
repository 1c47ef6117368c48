// SPDX-License-Identifier: BSL-1.0
// POL-02, POL-04: what the session's users before, and the tables' owners, have changed.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/pool_parts.h"

namespace idem::inline v1::conformance {

namespace {

// Every byte, and more of them than any short column holds.
response telling_response() {
  std::string bytes;
  for (int round = 0; round < 24; ++round)
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return {200, {{"content-type", "application/octet-stream"}, {"x-empty", ""}}, std::move(bytes)};
}

bool is_refusal(error const& e) {
  constexpr std::array typed{errc::read_only, errc::configuration, errc::unsupported,
                             errc::isolation_mismatch};
  return std::ranges::find(typed, e.what) != typed.end() && e.certainty != certainty::in_doubt;
}

void run_on_dirty_session(context& c, session_setting const& which) {
  std::string const name(which.name);
  auto& s = c.connect();
  auto& clean = c.connect();
  auto const before = c.must(c.engine().setting(s, which), name + " is read");
  c.must(c.engine().make_dirty(s, which), name + " is changed");
  auto const now = c.must(c.engine().setting(s, which), name + " is read back");
  if (c.check(now != before, name + " is not as it was, at entry")) c.mark("read_back_dirty");
  auto const op = c.make_operation(name);
  auto const r = telling_response();
  auto called = run_answering(c, s, op, r);
  if (!called.answered) {
    error const& e = called.answered.error();
    c.check(is_refusal(e), name + ": refused with a type: " + describe(e));
    c.check_stored(op, 0, false);
    called = run_answering(c, clean, op, r);
  }
  check_executed(c, called, name + ": the call");
  c.check_stored(op, 1, true);
  check_replayed(c, run_answering(c, clean, op, r), called, name + ": asked on a clean session");
  auto const again = run_answering(c, s, op, r);
  c.check(!again.answered || again.is<replayed>(), name + ": never executed again");
  if (again.answered) check_replayed(c, again, called, name + ": asked on the dirty session");
}

void give_back_dirty(context& c, session_setting const& which) {
  std::string const name(which.name);
  auto& pool = c.make_pool(1);
  std::string before;
  {
    auto lease = session_lease::acquire(pool, {});
    c.require(lease.has_value(), "the pool has a session");
    before = c.must(c.engine().setting(**lease, which), name + " is read");
    c.must(c.engine().make_dirty(**lease, which), name + " is changed");
  }
  if (which.restored) {
    auto lease = session_lease::acquire(pool, {});
    c.require(lease.has_value(), "the pool has a session again");
    auto const now = c.must(c.engine().setting(**lease, which), name + " is read again");
    if (c.check(now == before, name + " is as it was for the next user")) c.mark("restored");
  }
  auto const op = c.make_operation(name + ", pool");
  auto const called = c.run(pool, op);
  check_executed(c, called, name + ": the next user's call");
  check_replayed(c, c.run(pool, op), called, name + ": asked again");
  c.check_stored(op, 1, true);
}

// What a user reads by a statement whose text stays the same.
call run_reading(context& c, session& s, operation const& op, std::size_t& columns) {
  return c.run(s, op, [&](transaction& tx) -> result<answer> {
    auto read = c.engine().read_altered(tx);
    if (!read) return std::unexpected(std::move(read).error());
    columns = *read;
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(c.response_with(std::move(*nonce)));
  });
}

std::size_t check_reads(context& c, session& s, std::string const& key) {
  auto const op = c.make_operation(key);
  std::size_t columns = 0;
  auto const called = run_reading(c, s, op, columns);
  check_executed(c, called, key);
  c.check_stored(op, 1, true);
  check_replayed(c, c.run(s, op), called, key + ", asked again");
  return columns;
}

}  // namespace

// POL-02
void dirty_sessions(context& c) {
  auto const all = c.engine().settings();
  c.require(!all.empty(), "a session has settings");
  for (auto const& which : all) {
    run_on_dirty_session(c, which);
    give_back_dirty(c, which);
  }
}

// POL-04
void statement_outlives_ddl(context& c) {
  auto& s = c.connect();
  auto& owner = c.connect();
  c.must(c.engine().alter_table(owner, false), "a view is made");
  std::size_t narrow = 0;
  for (int i = 0; i < 3; ++i) narrow = check_reads(c, s, "before " + std::to_string(i));
  c.must(c.engine().alter_table(owner, true), "it gets another column");
  auto const wide = check_reads(c, s, "wider");
  if (c.check(wide == narrow + 1, "the effect sees the new column")) c.mark("columns_changed");
  check_reads(c, s, "wider, once more");
  c.must(c.engine().alter_table(owner, false), "and loses it");
  c.check(check_reads(c, s, "narrow again") == narrow, "the effect sees the old columns");
}

void nothing_to_alter(context& c) {
  auto& s = c.connect();
  c.check(!c.engine().alter_table(s, true), "no table can be altered");
  auto const op = c.make_operation("a statement of DDL");
  bool refused = false;
  auto const called = c.run(s, op, [&](transaction& tx) -> result<answer> {
    refused = !tx.execute("ALTER TABLE ledger ADD COLUMN wider INTEGER");
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    return answer(c.response_with(std::move(*nonce)));
  });
  c.check(refused, "a statement that alters a table is refused");
  check_executed(c, called, "the call beside it");
  c.check_stored(op, 1, true);
}

}  // namespace idem::inline v1::conformance
