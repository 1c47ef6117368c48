// SPDX-License-Identifier: BSL-1.0
// SIZ: sizes up to the declared bounds are kept whole; beyond them nothing is.
#include <algorithm>
#include <array>
#include <utility>

#include "conformance/digest.h"
#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"

namespace idem::inline v1::conformance {

namespace {

std::string filled(std::string const& start, std::size_t bytes, char last) {
  std::string text = start + std::string(bytes - start.size(), 'x');
  text.back() = last;
  return text;
}

// SIZ-01
void longest_identities(context& c) {
  std::string const scope = filled(c.scope(), max_scope_bytes, 'a');
  std::string const name = filled("debit:v1", max_operation_bytes, 'a');
  std::string const key = filled("key", max_key_bytes, 'a');
  std::string const scope_b = filled(c.scope(), max_scope_bytes, 'b');
  std::string const name_b = filled("debit:v1", max_operation_bytes, 'b');
  std::string const key_b = filled("key", max_key_bytes, 'b');
  std::string wide;  // 85 times three bytes
  for (std::size_t i = 0; i < max_key_bytes / 3; ++i) wide += "\xE6\xBC\xA2";
  std::string const wide_b = wide.substr(0, wide.size() - 1) + "\xA3";
  std::vector<operation> operations;
  for (auto const& id : {identity_parts{scope, name, key}, identity_parts{scope, name, key_b},
                         identity_parts{scope, name_b, key}, identity_parts{scope_b, name, key},
                         identity_parts{scope_b, name_b, key_b}, identity_parts{scope, name, wide},
                         identity_parts{scope, name, wide_b},
                         identity_parts{scope, name, std::string_view(key).substr(0, 254)}})
    operations.push_back(c.make_operation(id, "payload"));
  check_told_apart(c, operations);

  int const calls = c.body_calls();
  auto const records = c.must(c.engine().record_count(c.observer()), "the records are counted");
  std::string const wide_over = wide + "\xC3\xA9";
  check_no_identity(c, {scope + "c", name, key}, "a scope of 129 bytes");
  check_no_identity(c, {scope, name + "c", key}, "an operation of 129 bytes");
  check_no_identity(c, {scope, name, key + "c"}, "a key of 256 bytes");
  check_no_identity(c, {scope, name, wide_over}, "a key of 86 characters in 257 bytes");
  check_no_identity(c, {scope, name, std::string(70000, 'k')}, "a key of 70000 bytes");
  c.check(c.body_calls() == calls && c.engine().record_count(c.observer()) == records,
          "none of these ran an effect or made a record");
}

// SIZ-03
std::size_t const largest = store_options{}.max_response_bytes;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::string random_bytes(context& c, std::size_t size) {
  std::string bytes(size, '\0');
  std::mt19937_64 random(c.random()());
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    auto const word = random();
    std::copy_n(reinterpret_cast<char const*>(&word), 8, bytes.begin() + static_cast<long>(i));
  }
  for (; i < size; ++i) bytes[i] = static_cast<char>(random());
  return bytes;
}

void check_size_kept(context& c, std::size_t size) {
  auto const op = c.make_operation("bytes-" + std::to_string(size));
  std::string const what = std::to_string(size) + " bytes";
  response const r{200, {}, random_bytes(c, size)};
  auto const first = run_answering(c, c.connect(), op, r);
  bool const refused_there = size > mebibyte && first.failed_with(errc::response_too_large);
  if (refused_there) {  // a limit of the server's own, known and typed
    c.log(what + " are beyond the server's limit");
    c.check_stored(op, 0, false);
    return;
  }
  check_executed(c, first, what);
  auto const again = run_answering(c, c.connect(), op, r);
  c.check(again.is<replayed>() && sha256_hex(again.body()) == sha256_hex(*r.body),
          what + " come back with the same SHA-256");
  check_replayed(c, again, first, what + " asked again");
  c.check_stored(op, 1, true);
  if (size == mebibyte) c.mark("mebibyte_kept");
}

void check_size_refused(context& c, std::size_t size) {
  auto const op = c.make_operation("bytes-" + std::to_string(size));
  std::string const what = std::to_string(size) + " bytes";
  auto& s = c.connect();
  auto const called = run_answering(c, s, op, {200, {}, std::string(size, 'x')});
  check_failed(c, called, errc::response_too_large, what);
  bool const typed = !called.answered &&
                     called.answered.error().certainty == certainty::rolled_back &&
                     called.answered.error().advice == advice::never;
  if (c.check(typed, what + " are rolled back, and trying again does not help"))
    c.mark("limit_refused");
  c.check(c.body_calls(op) == 1, "the effect had run");
  c.check_stored(op, 0, false);
  check_executed(c, run_answering(c, s, op, {200, {}, "small"}), "the key with a small answer");
  c.check_stored(op, 1, true);
}

void answers_of_all_sizes(context& c) {
  for (std::size_t const size :
       {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{4000},
        std::size_t{4001}, std::size_t{8000}, std::size_t{8001}, std::size_t{32767},
        std::size_t{32768}, std::size_t{65535}, std::size_t{65536}, mebibyte, largest - 1, largest})
    check_size_kept(c, size);
  check_size_refused(c, largest + 1);
}

// SIZ-04: the unit is the byte, whatever a character takes.
std::string wide_characters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "\xF0\x9D\x84\x9E";  // U+1D11E
  return text;
}

void four_byte_characters(context& c) {
  constexpr std::size_t wide = 4, many = 255;
  std::string const key = wide_characters(max_key_bytes / wide) + "abc";  // 63 of them and 3 bytes
  std::string const key_b = key.substr(0, key.size() - 1) + "d";
  std::string const key_wide = wide_characters(max_key_bytes / wide);
  std::string const key_other = key_wide.substr(0, key_wide.size() - 1) + "\x9F";
  std::string const name = wide_characters(max_operation_bytes / wide);
  std::string const name_b = name.substr(0, name.size() - 1) + "\x9F";
  std::string const& s = c.scope();
  std::vector<operation> operations;
  for (auto const& id : {identity_parts{s, name, key}, identity_parts{s, name, key_b},
                         identity_parts{s, name, key_wide}, identity_parts{s, name, key_other},
                         identity_parts{s, name_b, key}, identity_parts{s, name_b, key_wide}})
    operations.push_back(c.make_operation(id, "payload"));
  check_told_apart(c, operations);

  int const calls = c.body_calls();
  auto const records = c.must(c.engine().record_count(c.observer()), "the records are counted");
  check_no_identity(c, {s, name, wide_characters(many)}, "a key of 255 four-byte characters");
  check_no_identity(c, {s, wide_characters(many), key}, "an operation of 255 of them");
  check_no_identity(c, {wide_characters(many), name, key}, "a scope of 255 of them");
  check_no_identity(c, {s, name, key_wide + wide_characters(1)}, "a key of 64 of them");
  check_no_identity(c, {s, name + "a", key}, "an operation of 32 of them and a byte");
  c.check(c.body_calls() == calls && c.engine().record_count(c.observer()) == records,
          "none of these ran an effect or made a record");
  c.mark("bytes_are_the_unit");

  auto const op = c.make_operation("content", wide_characters(many));
  auto& here = c.connect();
  response const r{200, {{"x-wide", wide_characters(many)}}, wide_characters(many * many)};
  auto const first = run_answering(c, here, op, r);
  check_executed(c, first, "255 four-byte characters as content, header and more as body");
  check_replayed(c, run_answering(c, c.connect(), op, r), first, "they, asked again");
  check_mismatched(c, c.run(here, c.make_operation("content", wide_characters(many - 1))),
                   "one character less");
  c.check_stored(op, 1, true);
}

// SIZ-05
// Writes, sees its write, and then makes the save impossible.
effect_function unstorable_effect(context& c, operation const& op, bool too_large) {
  return [&c, op, too_large](transaction& tx) -> result<answer> {
    auto nonce = c.write_effect(tx, op);
    if (!nonce) return std::unexpected(std::move(nonce).error());
    auto const seen = c.engine().ledger(tx.session());
    if (seen && std::ranges::find(*seen, *nonce, &ledger_row::nonce) != seen->end())
      c.mark(too_large ? "write_seen_before_large" : "write_seen_before_loss");
    if (too_large) return answer(c.response_with(*nonce + std::string(largest, 'x')));
    auto deleted = c.engine().delete_record(tx, op.request.identity());
    if (!deleted) return std::unexpected(std::move(deleted).error());
    return answer(c.response_with(*nonce));
  };
}

void check_nothing_kept(context& c, session& s, operation const& op, std::string const& what) {
  c.check_stored(op, 0, false);
  auto const next = c.run(s, op);
  check_executed(c, next, what + ": the next call");
  check_replayed(c, c.run(s, op), next, what + ": the call after it");
  c.check_stored(op, 1, true);
}

void save_fails_in_run(context& c, session& s, bool too_large) {
  std::string const what = too_large ? "too large" : "record lost";
  auto const op = c.make_operation("run, " + what);
  auto const called = c.run(s, op, unstorable_effect(c, op, too_large));
  check_failed(c, called, too_large ? errc::response_too_large : errc::save_unmatched, what);
  c.check(!called.answered && called.answered.error().certainty == certainty::rolled_back,
          what + ": the error says that it is rolled back");
  c.check(c.body_calls(op) == 1, what + ": the effect had run");
  check_nothing_kept(c, s, op, what);
}

// The caller owns the transaction, goes on after the failed save and commits.
void save_fails_in_complete(context& c, session& s) {
  auto const op = c.make_operation("complete, too large");
  auto tx = c.must(transaction::begin(s), "a transaction begins");
  auto claimed = c.must(c.idem().claim(tx, op.request, {}), "it claims");
  auto* token = std::get_if<claim_token>(&claimed);
  c.require(token != nullptr, "the claim takes the identity");
  auto const nonce = c.must(c.write_effect(tx, op), "the effect writes");
  auto const large = c.response_with(nonce + std::string(largest, 'x'));
  auto const saved = c.idem().complete(tx, std::move(*token), large);
  c.check(!saved && saved.error().what == errc::response_too_large, "completing is refused");
  auto const committed = tx.commit();
  c.check(!committed && committed.error().certainty == certainty::rolled_back,
          "the commit after it is refused and rolled back");
  c.note(op, committed ? told::executed : told::failed, nonce);
  check_nothing_kept(c, s, op, "complete");
}

void unstorable_answer(context& c) {
  auto& s = c.connect();
  save_fails_in_run(c, s, true);
  save_fails_in_run(c, s, false);
  save_fails_in_complete(c, s);
}

constexpr std::array all{
    scenario{"SIZ-01", longest_identities, std::nullopt, nullptr},
    scenario{"SIZ-03", answers_of_all_sizes, std::nullopt, nullptr},
    scenario{"SIZ-04", four_byte_characters, std::nullopt, nullptr},
    scenario{"SIZ-05", unstorable_answer, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> size_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
