// SPDX-License-Identifier: BSL-1.0
// The suite's effects as a user of SOCI writes them.
#include <idem/soci.h>
#include <soci/soci.h>

#include <deque>

#include "conformance/subjects/front_door.h"

namespace idem::inline v1::conformance {

namespace {

// SOCI names its placeholders: the first '?' is :p1.
std::string with_names(std::string const& sql) {
  std::string out;
  int number = 0;
  for (char const c : sql) {
    if (c == '?')
      out += ":p" + std::to_string(++number);
    else
      out += c;
  }
  return out;
}

// What the exception hides, as the session's driver tells it.
error error_of(transaction& tx, ::soci::soci_error const& thrown) {
  soci::detail::note_exception(tx);
  auto pending = tx.session().pending_error();
  error e = pending ? std::move(*pending) : error{};
  e.phase = phase::effect;
  e.certainty = certainty::rolled_back;
  if (e.message.empty()) e.message = "a statement failed in SOCI";
  e.native.message = thrown.get_error_message();
  return e;
}

}  // namespace

result<> write_in_soci(transaction& tx, std::string const& sql,
                       std::span<parameter const> parameters) {
  std::deque<std::string> texts;  // what is bound must stay where it is until it was executed
  std::deque<long long> integers;
  auto* const session = soci::find_session(tx.session());
  if (session == nullptr) {  // its connection is gone: the port says how
    auto const answered = tx.execute(sql, parameters);
    if (!answered) return std::unexpected(answered.error());
    error e;
    e.message = "the transaction's session is none of SOCI's";
    return std::unexpected(std::move(e));
  }
  try {
    ::soci::statement one(*session);
    for (auto const& p : parameters) {
      if (auto const* text = std::get_if<std::string_view>(&p.get()))
        one.exchange(::soci::use(texts.emplace_back(*text)));
      else
        one.exchange(::soci::use(integers.emplace_back(std::get<std::int64_t>(p.get()))));
    }
    one.alloc();
    one.prepare(with_names(sql), ::soci::details::st_one_time_query);  // as `sql << …` does
    one.define_and_bind();
    one.execute(true);
    return {};
  } catch (::soci::soci_error const& thrown) {
    return std::unexpected(error_of(tx, thrown));
  }
}

}  // namespace idem::inline v1::conformance
