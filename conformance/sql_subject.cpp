// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/kept_statement.h>
#include <idem/conformance/sql_subject.h>

#include <algorithm>
#include <array>
#include <utility>

namespace idem::inline v1::conformance {

namespace {

std::array<parameter, 3> key_parameters(identity const& id) {
  return {parameter(blob_view{id.scope()}), parameter(blob_view{id.operation()}),
          parameter(blob_view{id.key()})};
}

// One unambiguous text for a value: its type, its length, its bytes.
struct to_text {
  std::string operator()(std::monostate) const { return "null;"; }
  std::string operator()(std::int64_t n) const { return "i" + std::to_string(n) + ";"; }
  std::string operator()(double d) const { return "d" + std::to_string(d) + ";"; }
  std::string operator()(std::string const& s) const {
    return "t" + std::to_string(s.size()) + ":" + s + ";";
  }
  std::string operator()(blob const& b) const {
    return "b" + std::to_string(b.bytes.size()) + ":" + b.bytes + ";";
  }
};

result<> done(result<rows> answered) {
  if (!answered) return std::unexpected(std::move(answered).error());
  return {};
}

}  // namespace

std::string sql_subject::rendered(dialect const& d, std::string_view sql) const {
  auto names = schema::check_names(d, this->names());
  return schema::render(sql, names ? *names : this->names());
}

result<rows> sql_subject::query(session& s, std::string_view sql,
                                std::span<parameter const> parameters) const {
  std::string const text = rendered(s.sql(), sql);
  statement const one{text, parameters};
  auto answered = s.execute(std::span(&one, 1), {});
  if (!answered) return std::unexpected(std::move(answered).error());
  return std::move(answered->front());
}

result<> sql_subject::execute(transaction& tx, std::string_view sql,
                              std::span<parameter const> parameters) const {
  return done(tx.execute(rendered(tx.session().sql(), sql), parameters));
}

result<> sql_subject::prepare() {
  auto s = connect();
  if (!s) return std::unexpected(std::move(s).error());
  if (!prepared_) {
    if (auto installed = schema::install(**s, names()); !installed) return installed;
    for (auto const sql : sql_.create)
      if (auto created = query(**s, sql); !created)
        return std::unexpected(std::move(created).error());
  }
  prepared_ = true;
  for (auto const sql : sql_.clear)
    if (auto cleared = query(**s, sql); !cleared)
      return std::unexpected(std::move(cleared).error());
  return {};
}

result<> sql_subject::write(transaction& tx, ledger_row const& row) {
  std::array<parameter, 4> const values{row.tag, row.nonce, row.worker, row.amount};
  auto const& d = tx.session().sql();
  if (auto appended = write_statement(tx, rendered(d, sql_.append), values); !appended)
    return appended;
  std::array<parameter, 1> const amount{row.amount};
  return write_statement(tx, rendered(d, sql_.add), amount);
}

result<> sql_subject::write_statement(transaction& tx, std::string const& sql,
                                      std::span<parameter const> parameters) const {
  return done(tx.execute(sql, parameters));
}

std::vector<kept_statement> sql_subject::fixed(dialect const& d, fixed_part part,
                                               ledger_row const& row) const {
  std::array<parameter, 4> const values{row.tag, row.nonce, row.worker, row.amount};
  std::array<parameter, 1> const amount{row.amount};
  auto const keep = [&](std::string_view sql, std::span<parameter const> bound = {}) {
    auto const text = rendered(d, sql);
    return kept_statement({text, bound});
  };
  switch (part) {
    case fixed_part::write:
      return {keep(sql_.append, values), keep(sql_.add, amount)};
    case fixed_part::break_constraint:
      return {keep(sql_.break_constraint)};
    case fixed_part::break_at_commit:
      return {keep(sql_.break_at_commit)};
    case fixed_part::commit:
      break;
  }
  return {keep(sql_.commit)};
}

result<std::vector<ledger_row>> sql_subject::ledger(session& s) {
  auto answered = query(s, sql_.ledger);
  if (!answered) return std::unexpected(std::move(answered).error());
  std::vector<ledger_row> all;
  for (auto const& row : answered->values)
    all.push_back({as_text(row[0]), as_text(row[1]), as_integer(row[2]), as_integer(row[3])});
  return all;
}

result<std::int64_t> sql_subject::balance(session& s) {
  auto answered = query(s, sql_.balance);
  if (!answered) return std::unexpected(std::move(answered).error());
  return as_integer((*answered)[0][0]);
}

result<std::optional<std::string>> sql_subject::record_row(session& s, identity const& id) {
  auto const keys = key_parameters(id);
  auto answered = query(s, sql_.record_row, keys);
  if (!answered) return std::unexpected(std::move(answered).error());
  if (answered->empty()) return std::optional<std::string>();
  std::string text;
  for (auto const& v : (*answered)[0]) text += std::visit(to_text{}, v);
  return std::optional(std::move(text));
}

result<std::int64_t> sql_subject::record_count(session& s) {
  auto answered = query(s, sql_.record_count);
  if (!answered) return std::unexpected(std::move(answered).error());
  return as_integer((*answered)[0][0]);
}

result<> sql_subject::break_constraint(transaction& tx) {
  return execute(tx, sql_.break_constraint);
}
result<> sql_subject::break_transaction(transaction& tx) {
  return execute(tx, sql_.break_transaction);
}
result<> sql_subject::break_at_commit(transaction& tx) { return execute(tx, sql_.break_at_commit); }

result<> sql_subject::end_transaction(transaction& tx, ending how) {
  auto ended = execute(tx, how == ending::rollback ? sql_.rollback : sql_.commit);
  return how == ending::commit_and_begin ? execute(tx, sql_.begin) : ended;
}

result<> sql_subject::delete_record(transaction& tx, identity const& id) {
  return execute(tx, sql_.delete_record, key_parameters(id));
}

result<bool> sql_subject::collapses(session& s, std::string_view a, std::string_view b) {
  std::array<parameter, 2> const both{a, b};
  auto answered = query(s, sql_.collapses, both);
  if (!answered) return std::unexpected(std::move(answered).error());
  return as_integer((*answered)[0][0]) != 0;
}

result<> sql_subject::insert_null_key(session& s, int part) {
  return done(query(s, sql_.insert_null_key[static_cast<std::size_t>(part)]));
}

result<> sql_subject::hide_record(session& s, identity const& id, bool hidden) {
  auto const& statements = hidden ? sql_.hide : sql_.unhide;
  auto const keys = key_parameters(id);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    bool const takes_key = hidden && i + 1 == statements.size();
    auto ran = query(s, statements[i],
                     takes_key ? std::span<parameter const>(keys) : std::span<parameter const>());
    if (!ran) return std::unexpected(std::move(ran).error());
  }
  return {};
}

result<std::string> sql_subject::isolation_of(session& s) {
  if (sql_.isolation.empty()) return subject::isolation_of(s);
  auto answered = query(s, sql_.isolation);
  if (!answered) return std::unexpected(std::move(answered).error());
  return as_text((*answered)[0][0]);
}

std::vector<session_setting> sql_subject::settings() const {
  std::vector<session_setting> all;
  for (auto const& one : sql_.settings) all.push_back(one.setting);
  return all;
}

setting_statements const* sql_subject::find(session_setting const& wanted) const {
  auto const place = std::ranges::find(
      sql_.settings, wanted.name, [](setting_statements const& one) { return one.setting.name; });
  return place == sql_.settings.end() ? nullptr : &*place;
}

result<> sql_subject::make_dirty(session& s, session_setting const& wanted) {
  auto const* known = find(wanted);
  return known == nullptr ? subject::make_dirty(s, wanted) : done(query(s, known->make_dirty));
}

result<std::string> sql_subject::setting(session& s, session_setting const& wanted) {
  auto const* known = find(wanted);
  if (known == nullptr) return subject::setting(s, wanted);
  auto answered = query(s, known->read);
  if (!answered) return std::unexpected(std::move(answered).error());
  return answered->empty() ? std::string() : std::visit(to_text{}, (*answered)[0][0]);
}

result<> sql_subject::alter_table(session& s, bool wider) {
  auto const& statements = wider ? sql_.widen : sql_.narrow;
  if (statements.empty()) return subject::alter_table(s, wider);
  for (auto const sql : statements)
    if (auto ran = query(s, sql); !ran) return std::unexpected(std::move(ran).error());
  return {};
}

result<std::size_t> sql_subject::read_altered(transaction& tx) {
  if (sql_.read_altered.empty()) return subject::read_altered(tx);
  auto answered = tx.execute(rendered(tx.session().sql(), sql_.read_altered));
  if (!answered) return std::unexpected(std::move(answered).error());
  return answered->empty() ? std::size_t{0} : (*answered)[0].size();
}

}  // namespace idem::inline v1::conformance
