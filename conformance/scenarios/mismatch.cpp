// SPDX-License-Identifier: BSL-1.0
// MIS: a key that comes back with other content is refused, and nothing is told or changed.
#include <array>
#include <map>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/mismatch_parts.h"

namespace idem::inline v1::conformance {

namespace {

// MIS-01
void other_content_is_refused(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("once", "the content");
  auto const other = c.make_operation("once", "other content");
  auto const first = c.run(s, op);
  check_executed(c, first, "the first call");
  auto const before = c.record_row(op);
  for (int i = 0; i < 3; ++i) check_mismatched(c, c.run(s, other), "the key with other content");
  stepwise step(c, s, other);
  c.must(step.begin(), "a transaction begins");
  c.check(step.claim() == "mismatched", "a claim with other content is a mismatch");
  c.must(step.rollback(), "it rolls back");
  c.check(c.body_calls(op) == 1, "the effect ran once in all");
  c.check(before && c.record_row(op) == before, "the record's whole row is as it was");
  check_replayed(c, c.run(s, op), first, "the key with its own content");
  c.check_stored(op, 1, true);
}

// MIS-02
constexpr std::size_t content_bytes = 32;

std::size_t count_mismatches(context& c, session& s, std::vector<std::string> const& contents) {
  std::size_t count = 0;
  for (auto const& content : contents)
    count += c.run(s, c.make_operation("bits", content)).is<mismatched>() ? 1 : 0;
  return count;
}

std::vector<std::string> one_bit_neighbours(std::string const& of) {
  std::vector<std::string> all;
  for (std::size_t byte = 0; byte < of.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      all.push_back(of);
      all.back()[byte] = static_cast<char>(of[byte] ^ (1 << bit));
    }
  return all;
}

// Values that no single bit leads to.
std::vector<std::string> last_byte_neighbours(std::string const& of) {
  std::vector<std::string> all;
  for (int i = 1; i <= 32; ++i) {
    all.push_back(of);
    all.back().back() = static_cast<char>(of.back() ^ ((i << 3) - 1));
  }
  return all;
}

/// Two contents whose digests share two bytes, from `first_byte` on: some 300 tries find a pair.
std::optional<std::pair<std::string, std::string>> near_collision(context& c,
                                                                  std::size_t first_byte) {
  std::map<std::pair<std::byte, std::byte>, std::string> seen;
  for (int i = 0; i < 20000; ++i) {
    std::string content = "near collision " + std::to_string(i);
    auto const made = c.idem().from_bytes({c.scope(), "debit:v1", "near"}, content);
    if (!made) return std::nullopt;
    auto const print = c.idem().fingerprint_of(*made, current_fingerprint_version);
    if (!print) return std::nullopt;
    auto const [place, fresh] =
        seen.try_emplace({print->digest[first_byte], print->digest[first_byte + 1]}, content);
    if (!fresh) return std::pair(place->second, std::move(content));
  }
  return std::nullopt;
}

void check_near_collision(context& c, session& s, std::string const& key, std::size_t first_byte,
                          std::string const& mark) {
  auto const pair = near_collision(c, first_byte);
  if (!c.check(pair.has_value(), "two contents with nearly the same digest are found")) return;
  c.mark(mark);
  auto const op = c.make_operation(key, pair->first);
  auto const first = c.run(s, op);
  check_executed(c, first, "the first of two nearly equal digests");
  check_mismatched(c, c.run(s, c.make_operation(key, pair->second)), "the second of them");
  check_replayed(c, c.run(s, op), first, "the first again");
}

void every_bit_counts(context& c) {
  auto& s = c.connect();
  std::string base;
  for (std::size_t i = 0; i < content_bytes; ++i) base += static_cast<char>(c.random()());
  auto const op = c.make_operation("bits", base);
  auto const first = c.run(s, op);
  check_executed(c, first, "the first call");
  auto const before = c.record_row(op);
  auto const bits = count_mismatches(c, s, one_bit_neighbours(base));
  auto const last = count_mismatches(c, s, last_byte_neighbours(base));
  c.log(std::to_string(bits) + " contents that differ in one bit and " + std::to_string(last) +
        " that differ in the last byte were refused");
  c.check(bits == content_bytes * 8, "each of 256 one-bit differences is a mismatch");
  c.check(last == 32, "each of 32 differences in the last byte is a mismatch");
  check_replayed(c, c.run(s, op), first, "the content itself");
  c.check(before && c.record_row(op) == before, "the record's whole row is as it was");
  c.check(c.body_calls(op) == 1, "the effect ran once in all");
  check_near_collision(c, s, "prefix", 0, "prefix_collision_found");
  check_near_collision(c, s, "suffix", 30, "suffix_collision_found");
}

// MIS-03
constexpr std::array<std::string_view, 7> near_texts{
    "Ordre", "ordre", "ORDRE", "Ordr\xC3\xA9", "Ordre ", "Ordre\t", "Ordre\xC2\xA0"};

void texts_are_not_folded(context& c) {
  std::vector<content> as_bytes, as_fields, as_json;
  std::vector<operation> new_keys;
  for (auto const text : near_texts) {
    as_bytes.push_back(bytes_content(text));
    as_fields.push_back(fields_content("field " + shown(text), {{"of", std::string(text)}}));
    as_json.push_back(
        json_content("{\"of\":\"" + std::string(text == "Ordre\t" ? "Ordre\\t" : text) + "\"}"));
    new_keys.push_back(c.make_operation(text, text));
  }
  check_contents_differ(c, "bytes-", as_bytes);
  check_contents_differ(c, "fields-", as_fields);
  check_contents_differ(c, "json-", as_json);
  // Under keys that differ so as well, each is new: no mismatch with a neighbour.
  check_told_apart(c, new_keys);
}

// MIS-07
void session_goes_on(context& c) {
  auto& s = c.connect();
  auto const op = c.make_operation("taken", "the content");
  auto const other = c.make_operation("taken", "other content");
  auto const id = c.must(c.engine().session_id(s), "the server names the session");
  check_executed(c, c.run(s, op), "the first call");
  check_mismatched(c, c.run(s, other), "other content");
  auto const next = c.make_operation("next");
  check_executed(c, c.run(s, next), "the next operation on the session");
  stepwise step(c, s, other);
  c.must(step.begin(), "a transaction begins");
  c.check(step.claim() == "mismatched", "a claim with other content is a mismatch");
  auto const within = c.make_operation("in the same transaction");
  auto claimed =
      c.must(c.idem().claim(step.tx(), within.request, {}), "the transaction takes another claim");
  auto* token = std::get_if<claim_token>(&claimed);
  c.require(token != nullptr, "which takes its identity");
  auto const nonce = c.must(c.write_effect(step.tx(), within), "an effect writes");
  c.must(c.idem().complete(step.tx(), std::move(*token), c.response_with(nonce)),
         "the claim is completed");
  c.must(step.commit(), "the transaction commits");
  c.note(within, told::executed, nonce);
  c.check_stored(within, 1, true);
  check_executed(c, c.run(s, c.make_operation("last")), "an operation after that");
  if (c.check(c.engine().session_id(s) == id, "the session is the same")) c.mark("same_session");
  c.check_stored(op, 1, true);
  c.check_stored(next, 1, true);
}

constexpr std::array all{
    scenario{"MIS-01", other_content_is_refused, std::nullopt, nullptr},
    scenario{"MIS-02", every_bit_counts, std::nullopt, nullptr},
    scenario{"MIS-03", texts_are_not_folded, std::nullopt, nullptr},
    scenario{"MIS-04", first_calls_race, std::nullopt, nullptr},
    scenario{"MIS-05", content_in_flight, std::nullopt, nullptr},
    scenario{"MIS-06", versions_of_the_rule, std::nullopt, nullptr},
    scenario{"MIS-07", session_goes_on, std::nullopt, nullptr},
    scenario{"MIS-08", nothing_is_told, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> mismatch_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
