// SPDX-License-Identifier: BSL-1.0
#include "conformance/saboteurs/protocol_session.h"

#include <array>
#include <utility>

#include <idem/schema.h>

namespace idem::inline v1::conformance {

namespace {

table_names full(dialect const& d, table_names const& given) {
  return schema::check_names(d, given).value_or(given);
}

}  // namespace

protocol_texts::protocol_texts(dialect const& d, table_names const& given) {
  auto const names = full(d, given);
  claim_ = schema::render(d.sql.claim, names);
  find_ = schema::render(d.sql.find, names);
  read_winner_ = schema::render(d.sql.read_winner, names);
  save_ = schema::render(d.sql.save, names);
  discard_ = schema::render(d.sql.discard, names);
  savepoint_ = schema::render(d.sql.savepoint, names);
  rollback_to_savepoint_ = schema::render(d.sql.rollback_to_savepoint, names);
  release_savepoint_ = schema::render(d.sql.release_savepoint, names);
}

// An engine with another witness may leave the savepoints' texts empty: these are nobody's.
statement_kind protocol_texts::kind_of(std::string_view sql) const noexcept {
  using enum statement_kind;
  if (sql.empty()) return other;
  std::array<std::pair<std::string const*, statement_kind>, 8> const known{{
      {&claim_, claim},
      {&find_, read},
      {&read_winner_, read},
      {&save_, save},
      {&discard_, discard},
      {&savepoint_, statement_kind::savepoint},
      {&rollback_to_savepoint_, statement_kind::rollback_to_savepoint},
      {&release_savepoint_, release_savepoint},
  }};
  for (auto const& [text, kind] : known)
    if (sql == *text) return kind;
  return other;
}

std::string identity_text(statement const& s, std::size_t first) {
  std::string text;
  for (auto const& p : s.parameters.subspan(first, 3)) {
    std::string part;
    if (auto const* b = std::get_if<blob_view>(&p.get())) part = b->bytes;
    if (auto const* t = std::get_if<std::string_view>(&p.get())) part = *t;
    text += std::to_string(part.size()) + ":" + part;
  }
  return text;
}

protocol_session::protocol_session(std::unique_ptr<session> real, subject& s)
    : session_decorator(std::move(real)), texts_(sql(), s.names()) {}

result<std::vector<rows>> protocol_session::execute(std::span<statement const> all,
                                                    call_limits const& limits) {
  std::vector<rows> answers;
  answers.reserve(all.size());
  for (auto const& s : all) {
    auto answered = one(texts_.kind_of(s.sql), s, limits);
    if (!answered) return std::unexpected(std::move(answered).error());
    answers.push_back(std::move(*answered));
  }
  return answers;
}

result<> protocol_session::commit(std::span<statement const> last, call_limits const& limits) {
  auto sent = execute(last, limits);
  if (sent) return finish(limits);
  error e = std::move(sent).error();
  e.phase = phase::commit;
  e.certainty = certainty::rolled_back;
  return std::unexpected(std::move(e));
}

result<rows> protocol_session::pass(statement const& s, call_limits const& limits) {
  auto answered = real().execute(std::span(&s, 1), limits);
  if (!answered) return std::unexpected(std::move(answered).error());
  return std::move(answered->front());
}

result<rows> protocol_session::pass(kept_statement const& s, call_limits const& limits) {
  auto const parameters = s.parameters();
  return pass(statement{s.sql(), parameters}, limits);
}

result<rows> protocol_session::conflict() const {
  if (sql().facts.conflict == claim_conflict::no_row) return rows{};
  error e;
  e.what = errc::unique_violation;
  return std::unexpected(std::move(e));
}

rows one_row() {
  rows answer;
  answer.affected = 1;
  return answer;
}

}  // namespace idem::inline v1::conformance
