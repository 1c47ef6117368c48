// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

/// A setting of the session, with the statements that read and change it.
struct setting_statements {
  session_setting setting;
  std::string_view read;  ///< one value
  std::string_view make_dirty;
};

/// The suite's statements in one engine's SQL: whole literals. `{schema}` and `{prefix}` are
/// filled in as the protocol's are.
struct subject_statements {
  /// Make the ledger's tables where they are missing.
  std::span<std::string_view const> create;
  /// Empty every table of the suite, the records too.
  std::span<std::string_view const> clear;
  std::string_view append;         ///< tag, nonce, worker, amount
  std::string_view add;            ///< amount
  std::string_view ledger;         ///< tag, nonce, worker, amount of every row
  std::string_view balance;        ///< one integer
  std::string_view record_row;     ///< scope, operation, key: every column
  std::string_view record_count;   ///< one integer
  std::string_view delete_record;  ///< scope, operation, key
  std::string_view break_constraint;
  std::string_view break_transaction;
  std::string_view break_at_commit;
  std::string_view commit;
  std::string_view rollback;
  std::string_view begin;
  std::string_view collapses;                         ///< a, b: 1 or 0
  std::span<std::string_view const> insert_null_key;  ///< scope, operation, key: NULL in turn
  std::span<std::string_view const> hide;             ///< the last one takes scope, operation, key
  std::span<std::string_view const> unhide;

  // What not every engine has.
  std::string_view isolation;  ///< one text
  std::span<setting_statements const> settings;
  std::span<std::string_view const> widen;
  std::span<std::string_view const> narrow;
  std::string_view read_altered;  ///< SELECT * of what these two make
};

/// What every engine that speaks SQL shares. A new engine gives the statements and overrides
/// what is particular to it.
class sql_subject : public subject {
 public:
  explicit sql_subject(subject_statements const& s) : sql_(s) {}

  table_names names() const override { return {"", "idem_conformance_"}; }
  [[nodiscard]] result<> prepare() override;
  [[nodiscard]] result<> write(transaction&, ledger_row const&) override;
  std::vector<kept_statement> fixed(dialect const&, fixed_part, ledger_row const&) const override;
  [[nodiscard]] result<std::vector<ledger_row>> ledger(session&) override;
  [[nodiscard]] result<std::int64_t> balance(session&) override;
  [[nodiscard]] result<std::optional<std::string>> record_row(session&, identity const&) override;
  [[nodiscard]] result<std::int64_t> record_count(session&) override;
  [[nodiscard]] result<> break_constraint(transaction&) override;
  [[nodiscard]] result<> break_transaction(transaction&) override;
  [[nodiscard]] result<> break_at_commit(transaction&) override;
  [[nodiscard]] result<> end_transaction(transaction&, ending) override;
  [[nodiscard]] result<> delete_record(transaction&, identity const&) override;
  [[nodiscard]] result<bool> collapses(session&, std::string_view a, std::string_view b) override;
  [[nodiscard]] result<> insert_null_key(session&, int part) override;
  [[nodiscard]] result<> hide_record(session&, identity const&, bool hidden) override;
  [[nodiscard]] result<std::string> isolation_of(session&) override;
  std::vector<session_setting> settings() const override;
  [[nodiscard]] result<> make_dirty(session&, session_setting const&) override;
  [[nodiscard]] result<std::string> setting(session&, session_setting const&) override;
  [[nodiscard]] result<> alter_table(session&, bool wider) override;
  [[nodiscard]] result<std::size_t> read_altered(transaction&) override;

 protected:
  /// One statement of `write`, with '?' for its parameters (text and integers): where a driver's
  /// users write SQL in their own way, in that way.
  [[nodiscard]] virtual result<> write_statement(transaction&, std::string const& sql,
                                                 std::span<parameter const>) const;
  /// Runs one of the suite's statements with the tables' names filled in.
  [[nodiscard]] result<rows> query(session&, std::string_view sql,
                                   std::span<parameter const> = {}) const;
  [[nodiscard]] result<> execute(transaction&, std::string_view sql,
                                 std::span<parameter const> = {}) const;

 private:
  std::string rendered(dialect const&, std::string_view sql) const;
  setting_statements const* find(session_setting const&) const;
  subject_statements sql_;
  bool prepared_ = false;
};

}  // namespace idem::inline v1::conformance
