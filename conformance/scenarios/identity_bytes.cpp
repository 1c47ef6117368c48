// SPDX-License-Identifier: BSL-1.0
// IDC-09 and IDC-10: what is stored ends where it ends, and every byte of a key counts.
#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/identity_attacks.h"
#include "conformance/scenarios/identity_parts.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::string_view plain_operation = "debit:v1";
constexpr std::array<std::string_view, 8> tails{
    std::string_view(""),        std::string_view("\0", 1), std::string_view("\0\0", 2),
    std::string_view("\0 ", 2),  std::string_view(" "),     std::string_view(" \0", 2),
    std::string_view("\xFF", 1), std::string_view("\x01")};

// Content, body and header that differ in their tails only.
void tails_of_content(context& c, session& s) {
  std::vector<content> contents;
  for (std::string_view const start : {"", "tail"})
    for (auto const tail : tails) contents.push_back(bytes_content(std::string(start) += tail));
  check_contents_differ(c, "tail-", contents);
  for (std::string_view const start : {"", "tail"})
    for (auto const tail : tails) {
      std::string const bytes = std::string(start) += tail;
      auto const op = c.make_operation("body " + std::to_string(c.body_calls()));
      response const r{200, {{"h" + bytes, bytes}}, bytes};
      auto const first = run_answering(c, s, op, r);
      check_executed(c, first, "the body " + shown(bytes));
      check_replayed(c, run_answering(c, s, op, r), first, "the body " + shown(bytes) + " again");
      auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
      c.check(found && found->response == r, "the body " + shown(bytes) + " is stored whole");
    }
}

// A digest cannot be chosen: one in 256 ends as wanted.
std::optional<std::string> content_with_digest_ending(context& c, std::byte last) {
  for (int i = 0; i < 20000; ++i) {
    std::string content = "ending " + std::to_string(i);
    auto const made = c.idem().from_bytes({c.scope(), plain_operation, "ending"}, content);
    if (!made) return std::nullopt;
    auto const print = c.idem().fingerprint_of(*made, current_fingerprint_version);
    if (print && print->digest.back() == last) return content;
  }
  return std::nullopt;
}

void tails_of_fingerprints(context& c, session& s) {
  for (auto const last : {std::byte{0x00}, std::byte{0x20}, std::byte{0xFF}}) {
    std::string const name = "ends in " + std::to_string(std::to_integer<int>(last));
    auto const content = content_with_digest_ending(c, last);
    if (!c.check(content.has_value(), "a fingerprint that " + name + " is found")) continue;
    auto const op = c.make_operation(name, *content);
    auto const first = c.run(s, op);
    check_executed(c, first, "a fingerprint that " + name);
    auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
    auto const own = c.idem().fingerprint_of(op.request, current_fingerprint_version);
    if (c.check(found && own && found->fingerprint == *own, "it is stored whole"))
      c.mark("fingerprint_ends_in_" + std::to_string(std::to_integer<int>(last)));
    check_replayed(c, c.run(s, op), first, "a fingerprint that " + name + ", again");
  }
}

// Nor can an attempt be: claims are made and taken away again until one ends in a zero byte.
std::optional<claim_token> claim_ending_in_zero(context& c, transaction& tx,
                                                std::optional<operation>& op) {
  for (int i = 0; i < 20000; ++i) {
    op = c.make_operation("attempt " + std::to_string(i));
    auto claimed = c.idem().claim(tx, op->request, {});
    auto* token = claimed ? std::get_if<claim_token>(&*claimed) : nullptr;
    if (token == nullptr) return std::nullopt;
    if (token->attempt().bytes.back() == std::byte{0}) return std::move(*token);
    if (!c.idem().complete(tx, std::move(*token), {})) return std::nullopt;
    if (!c.engine().delete_record(tx, op->request.identity())) return std::nullopt;
  }
  return std::nullopt;
}

void tails_of_attempts(context& c, session& s) {
  auto tx = c.must(transaction::begin(s), "a transaction begins");
  std::optional<operation> op;
  auto token = claim_ending_in_zero(c, tx, op);
  c.require(token.has_value(), "an attempt that ends in a zero byte is found");
  auto const attempt = token->attempt();
  auto const nonce = c.must(c.write_effect(tx, *op), "its effect writes");
  c.must(c.idem().complete(tx, std::move(*token), c.response_with(nonce)),
         "it is completed: the save matches the attempt");
  c.must(tx.commit(), "the transaction commits");
  c.note(*op, told::executed, nonce);
  auto const found = c.must(c.idem().find(s, op->request.identity()), "the record is read");
  c.check(found && found->attempt == attempt, "the record has the attempt, all of it");
  auto const ours =
      c.must(c.idem().resolve(s, op->request, std::span(&attempt, 1)), "the attempt is resolved");
  if (c.check(std::holds_alternative<resolved::executed>(ours), "the attempt is found"))
    c.mark("attempt_ends_in_0");
  auto other = attempt;
  other.bytes.back() = std::byte{1};
  auto const foreign =
      c.must(c.idem().resolve(s, op->request, std::span(&other, 1)), "another attempt is resolved");
  c.check(std::holds_alternative<resolved::replayed>(foreign), "another attempt is not ours");
  c.check_stored(*op, 1, true);
}

}  // namespace

void stored_bytes_end_as_they_are(context& c) {
  auto& s = c.connect();
  tails_of_content(c, s);
  tails_of_fingerprints(c, s);
  tails_of_attempts(c, s);
}

namespace {

std::string utf8(std::uint32_t point) {
  auto const tail = [point](int shift) {
    return static_cast<char>(0x80 | ((point >> shift) & 0x3F));
  };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xC0 | (point >> 6)), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xE0 | (point >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

/// U+0001 to U+00FF, the edges of every plane and one character inside it.
std::vector<std::uint32_t> sample_of_planes(context& c) {
  std::vector<std::uint32_t> points;
  for (std::uint32_t p = 1; p <= 0xFF; ++p) points.push_back(p);
  for (std::uint32_t const edge : {0x7FFU, 0x800U, 0xD7FFU, 0xE000U, 0xFFFDU, 0xFFFEU, 0xFFFFU})
    points.push_back(edge);
  for (std::uint32_t plane = 1; plane <= 16; ++plane) {
    points.push_back(plane << 16);
    points.push_back((plane << 16) + 1 + static_cast<std::uint32_t>(c.random()() % 0xFFFD));
    points.push_back((plane << 16) + 0xFFFE);
    points.push_back((plane << 16) + 0xFFFF);
  }
  return points;
}

void one_character_keys(context& c) {
  auto const before = c.must(c.engine().record_count(c.observer()), "the records are counted");
  std::vector<operation> operations;
  for (auto const point : sample_of_planes(c)) operations.push_back(c.make_operation(utf8(point)));
  check_told_apart(c, operations);
  auto const after = c.engine().record_count(c.observer());
  bool const all = after && *after - before == static_cast<std::int64_t>(operations.size());
  if (c.check(all, std::to_string(operations.size()) + " one-character keys are as many records"))
    c.mark("characters_counted");
}

// Starts of keys in several scripts, then ASCII up to the length.
std::string random_key(context& c, std::size_t size) {
  constexpr std::array<std::string_view, 5> starts{"", "\xC3\xA9", "\xE6\xBC\xA2\xD0\xB6",
                                                   "\xF0\x9F\x8E\xA9", "\xED\x9F\xBF"};
  std::string key(starts[c.random()() % starts.size()]);
  while (key.size() < size) key += static_cast<char>('!' + c.random()() % 94);
  return key;
}

constexpr std::size_t neighbours = 100'000;

/// Claims a key and its one-bit neighbours in a transaction that is rolled back: what tells them
/// apart is the primary key, and that decides at the claim.
class neighbour_claims {
 public:
  explicit neighbour_claims(context& c) : context_(c), session_(c.connect()) {}

  std::size_t taken() const { return taken_; }
  std::size_t refused() const { return refused_; }
  std::size_t digests() const { return digests_.size(); }
  std::string const& first_wrong() const { return wrong_; }
  bool done() const { return taken_ == neighbours || !wrong_.empty(); }

  void around(std::string key) {
    auto tx = transaction::begin(session_);
    if (!tx) return fail(key, "has no transaction: " + describe(tx.error()));
    tx_ = &*tx;
    claim(key);
    for (std::size_t byte = 0; byte < key.size(); ++byte)
      for (int bit = 0; bit < 8 && !done(); ++bit) {
        char const whole = key[byte];
        key[byte] = static_cast<char>(whole ^ (1 << bit));
        claim(key);
        key[byte] = whole;
      }
    if (!tx->rollback()) fail(key, "cannot be rolled back");
  }

 private:
  void claim(std::string const& key) {
    if (!keys_.insert(key).second) return;
    auto made = context_.idem().from_bytes({context_.scope(), plain_operation, key}, key);
    bool const valid = is_valid_utf8(key) && key.find('\0') == std::string::npos;
    if (made.has_value() != valid) return fail(key, "is valid UTF-8 or not");
    if (!made) {
      ++refused_;
      return;
    }
    auto const print = context_.idem().fingerprint_of(*made, current_fingerprint_version);
    if (print) digests_.emplace(reinterpret_cast<char const*>(print->digest.data()), 32);
    auto claimed = context_.idem().claim(*tx_, *made, {});
    auto* token = claimed ? std::get_if<claim_token>(&*claimed) : nullptr;
    if (token == nullptr) return fail(key, "is taken by another");
    auto const answer = context_.response_with(std::to_string(taken_));
    if (!context_.idem().complete(*tx_, std::move(*token), answer))
      return fail(key, "is not saved");
    if (++taken_ % 97 == 0) ask_again(*made, key, answer);
  }
  void ask_again(request const& r, std::string const& key, response const& own) {
    auto const claimed = context_.idem().claim(*tx_, r, {});
    auto const* again = claimed ? std::get_if<replayed>(&*claimed) : nullptr;
    if (again == nullptr || again->response != own) fail(key, "has another's answer");
  }
  void fail(std::string const& key, std::string const& why) {
    if (wrong_.empty()) wrong_ = shown(key) + " " + why;
  }

  context& context_;
  session& session_;
  transaction* tx_ = nullptr;
  std::unordered_set<std::string> keys_;
  std::unordered_set<std::string> digests_;
  std::size_t taken_ = 0, refused_ = 0;
  std::string wrong_;
};

void one_bit_neighbours(context& c) {
  auto const before = c.must(c.engine().record_count(c.observer()), "the records are counted");
  neighbour_claims claims(c);
  claims.around(random_key(c, max_key_bytes));
  while (!claims.done()) claims.around(random_key(c, 8 + c.random()() % 40));
  c.log(std::to_string(claims.taken()) + " keys of one-bit neighbours were taken, " +
        std::to_string(claims.refused()) + " neighbours are no UTF-8");
  c.check(claims.first_wrong().empty(), "no key is wrong; the first was: " + claims.first_wrong());
  if (c.check(claims.taken() == neighbours, "100000 one-bit neighbours are as many identities"))
    c.mark("neighbours_claimed");
  c.check(claims.digests() == claims.taken(), "and as contents they have as many fingerprints");
  c.check(c.engine().record_count(c.observer()) == before, "none of them is kept");
}

}  // namespace

void every_character(context& c) {
  one_character_keys(c);
  one_bit_neighbours(c);
}

}  // namespace idem::inline v1::conformance
