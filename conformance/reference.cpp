// SPDX-License-Identifier: BSL-1.0
#include "conformance/reference.h"

#include <idem/conformance/kept_statement.h>
#include <idem/memory.h>

#include <array>
#include <sstream>
#include <utility>

namespace idem::inline v1::conformance {

namespace {

constexpr std::string_view ledger_table = "ledger";
constexpr std::string_view taken_table = "taken";
constexpr std::string_view balance_counter = "balance";
constexpr std::string_view contended_counter = "contended";

// Tags and nonces hold no space.
std::string to_row(ledger_row const& row) {
  return row.tag + " " + row.nonce + " " + std::to_string(row.worker) + " " +
         std::to_string(row.amount);
}

ledger_row from_row(std::string const& text) {
  ledger_row row;
  std::istringstream(text) >> row.tag >> row.nonce >> row.worker >> row.amount;
  return row;
}

std::array<parameter, 3> key_parameters(identity const& id) {
  return {parameter(blob_view{id.scope()}), parameter(blob_view{id.operation()}),
          parameter(blob_view{id.key()})};
}

result<rows> query(session& s, std::string_view sql, std::span<parameter const> parameters) {
  statement const one{sql, parameters};
  auto answered = s.execute(std::span(&one, 1), {});
  if (!answered) return std::unexpected(std::move(answered).error());
  return std::move(answered->front());
}

struct to_text {
  std::string operator()(std::monostate) const { return "null;"; }
  std::string operator()(std::int64_t n) const { return std::to_string(n) + ";"; }
  std::string operator()(double d) const { return std::to_string(d) + ";"; }
  std::string operator()(std::string const& s) const { return s + ";"; }
  std::string operator()(blob const& b) const {
    return std::to_string(b.bytes.size()) + ":" + b.bytes + ";";
  }
};

class reference_subject final : public subject {
 public:
  std::string name() const override { return "memory"; }
  std::string target() const override { return "memory:"; }
  std::set<capability> declared() const override {
    return {capability::restart,
            capability::concurrent_writers,
            capability::wait_names_identity,
            capability::deadlock,
            capability::deferred_constraint,
            capability::lock_wait_in_effect,
            capability::statement_can_end_transaction,
            capability::commit_conflict,
            capability::kill_session};
  }
  table_names names() const override { return {"", "idem_conformance_"}; }

  result<std::vector<fact>> facts() override {
    return std::vector<fact>{{"engine", "idem's in-memory reference"}, {"durable", "no"}};
  }

  result<> prepare() override {
    database_ = std::make_shared<memory::database>();
    auto s = memory::connect(database_);
    return schema::install(*s, names());
  }

  result<std::unique_ptr<session>> connect() override { return memory::connect(database_); }
  result<std::string> session_id(session& s) override {
    return std::to_string(memory::session_id(s));
  }
  bool waiting(session& s) override { return memory::waiting(s); }
  result<std::string> transaction_id(session& s) override {
    auto const serial = memory::transaction_serial(s);
    return serial == 0 ? std::string() : std::to_string(serial);
  }
  result<> restart() override {
    database_->restart();
    return {};
  }

  result<> write(transaction& tx, ledger_row const& row) override {
    if (auto appended = memory::append(tx, ledger_table, to_row(row)); !appended) return appended;
    return added(tx, balance_counter, row.amount);
  }
  std::vector<kept_statement> fixed(dialect const&, fixed_part part,
                                    ledger_row const& row) const override {
    auto const text = to_row(row);
    std::array<parameter, 2> const appended{ledger_table, text};
    std::array<parameter, 2> const added{balance_counter, row.amount};
    std::array<parameter, 2> const taken{taken_table, "1"};
    switch (part) {
      case fixed_part::write:
        return {kept_statement({"APPEND", appended}), kept_statement({"ADD", added})};
      case fixed_part::break_constraint:
        return {kept_statement({"INSERT", taken}), kept_statement({"INSERT", taken})};
      case fixed_part::break_at_commit:
        break;
      case fixed_part::commit:
        return {kept_statement({"COMMIT", {}})};
    }
    return {};
  }
  result<std::vector<ledger_row>> ledger(session& s) override {
    auto found = memory::rows_of(s, ledger_table);
    if (!found) return std::unexpected(std::move(found).error());
    std::vector<ledger_row> all;
    for (auto const& text : *found) all.push_back(from_row(text));
    return all;
  }
  result<std::int64_t> balance(session& s) override {
    return memory::counter_of(s, balance_counter);
  }
  result<std::optional<std::string>> record_row(session& s, identity const& id) override {
    auto const keys = key_parameters(id);
    auto const sql =
        schema::render(s.sql().sql.find, {s.sql().schema.default_schema.data(), names().prefix});
    auto answered = query(s, sql, keys);
    if (!answered) return std::unexpected(std::move(answered).error());
    if (answered->empty()) return std::optional<std::string>();
    std::string text;
    for (auto const& v : (*answered)[0]) text += std::visit(to_text{}, v);
    return std::optional(std::move(text));
  }
  result<std::int64_t> record_count(session&) override {
    return static_cast<std::int64_t>(database_->committed_records());
  }

  result<> break_constraint(transaction& tx) override {
    for (int i = 0; i < 2; ++i)
      if (auto taken = memory::insert(tx, taken_table, "1"); !taken) return taken;
    return {};
  }
  result<> break_transaction(transaction& tx) override { return memory::abort_transaction(tx); }
  result<> break_at_commit(transaction& tx) override {
    return memory::fail_next_commit(tx.session(), memory::commit_fault::constraint_violation);
  }
  result<> end_transaction(transaction& tx, ending how) override {
    auto const text = how == ending::commit     ? "COMMIT"
                      : how == ending::rollback ? "ROLLBACK"
                                                : "COMMIT AND CHAIN";
    auto ended = tx.execute(text);
    if (!ended) return std::unexpected(std::move(ended).error());
    return {};
  }
  result<> delete_record(transaction& tx, identity const& id) override {
    auto deleted = tx.execute("DELETE main.idem_conformance_record", key_parameters(id));
    if (!deleted) return std::unexpected(std::move(deleted).error());
    return {};
  }
  result<> hold_lock(session& holder) override {
    auto tx = transaction::begin(holder);
    if (!tx) return std::unexpected(std::move(tx).error());
    if (auto held = added(*tx, contended_counter, 0); !held) return held;
    holder_.emplace(std::move(*tx));
    return {};
  }
  result<> release_lock(session&) override {
    auto released = holder_->rollback();
    holder_.reset();
    return released;
  }
  result<> want_lock(transaction& tx, std::chrono::milliseconds wait) override {
    if (auto set = memory::set_wait_limit(tx.session(), wait); !set) return set;
    return added(tx, contended_counter, 0);
  }
  result<bool> collapses(session&, std::string_view a, std::string_view b) override {
    return a == b;
  }
  // The key is a C++ value: there is no statement that could bind NULL for a part of it.
  result<> insert_null_key(session& s, int part) override {
    std::array<parameter, 8> values{
        blob_view{"a"}, blob_view{"b"}, blob_view{"c"}, blob_view{""}, 1,
        blob_view{""},  nullptr,        std::int64_t{0}};
    values[static_cast<std::size_t>(part)] = nullptr;
    auto const sql =
        schema::render(s.sql().sql.claim, {s.sql().schema.default_schema.data(), names().prefix});
    auto inserted = query(s, sql, values);
    if (!inserted) return std::unexpected(std::move(inserted).error());
    return {};
  }
  result<> hide_record(session& s, identity const& id, bool hidden) override {
    auto const keys = key_parameters(id);
    std::array<parameter, 4> const all{keys[0], keys[1], keys[2], hidden};
    auto hid = query(s, "HIDE main.idem_conformance_record", all);
    if (!hid) return std::unexpected(std::move(hid).error());
    return {};
  }

  std::vector<isolation_level> levels() const override {
    return {{isolation::read_uncommitted, level_}, {isolation::read_committed, level_}};
  }
  // The engine has one level only, whatever the session asks for.
  result<std::string> isolation_of(session& s) override {
    auto status = s.status();
    if (!status) return std::unexpected(std::move(status).error());
    return std::string(level_);
  }
  result<> conflict_at_commit(transaction& tx) override {
    return memory::fail_next_commit(tx.session(), memory::commit_fault::serialization_failure);
  }
  result<> kill_session(session& s) override { return memory::disconnect(s); }
  std::vector<session_setting> settings() const override { return {{"wait limit", true}}; }
  result<> make_dirty(session& s, session_setting const&) override {
    return memory::set_wait_limit(s, std::chrono::milliseconds(1));
  }
  result<std::string> setting(session& s, session_setting const& wanted) override {
    auto const limit = memory::wait_limit(s);
    return limit ? std::to_string(limit->count()) : subject::setting(s, wanted);
  }

 private:
  static constexpr std::string_view level_ = "read committed";

  static result<> added(transaction& tx, std::string_view counter, std::int64_t amount) {
    auto sum = memory::add(tx, counter, amount);
    if (!sum) return std::unexpected(std::move(sum).error());
    return {};
  }

  std::shared_ptr<memory::database> database_ = std::make_shared<memory::database>();
  std::optional<transaction> holder_;
};

}  // namespace

std::unique_ptr<subject> make_reference_subject() { return std::make_unique<reference_subject>(); }

}  // namespace idem::inline v1::conformance
