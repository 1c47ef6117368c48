// SPDX-License-Identifier: BSL-1.0
// IDC: two identities are one if and only if their bytes are.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"
#include "conformance/scenarios/identity_attacks.h"
#include "conformance/scenarios/identity_parts.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::string_view plain_operation = "debit:v1";

std::vector<std::string_view> texts_of(std::span<attack const> attacks) {
  std::set<std::string_view> distinct;
  for (auto const& a : attacks) distinct.insert(a.texts.begin(), a.texts.end());
  return {distinct.begin(), distinct.end()};
}

/// Every text as the key, as the operation and at the end of the scope.
std::vector<operation> operations_of(context& c, std::span<attack const> attacks) {
  std::vector<operation> operations;
  for (auto const text : texts_of(attacks)) {
    std::string const scope = c.scope() + "/" + std::string(text);
    operations.push_back(c.make_operation({c.scope(), plain_operation, text}, "payload"));
    operations.push_back(c.make_operation({c.scope(), text, "key"}, "payload"));
    operations.push_back(c.make_operation({scope, plain_operation, "key"}, "payload"));
  }
  return operations;
}

// The positive control: the same texts in a text column with the engine's most collapsing
// collation. Where it tells every pair apart the attack is harmless there anyway.
void control(context& c, std::span<attack const> attacks) {
  auto& s = c.connect();
  std::string collapsed;
  for (auto const& a : attacks)
    for (auto const text : a.texts.subspan(1)) {
      auto const one = c.engine().collapses(s, a.texts[0], text);
      c.check(one.has_value(), "the engine compares texts");
      if (one && *one) collapsed += " " + shown(a.texts[0]) + "=" + shown(text);
    }
  c.log("as text the engine takes for one:" + (collapsed.empty() ? " none" : collapsed));
  bool const declared = c.engine().declared().contains(capability::text_collation);
  if (!collapsed.empty()) c.mark("attack_bites");
  c.check(declared || collapsed.empty(),
          "an engine that has no collation of its own takes none of the texts for one");
}

void check_attacks(context& c, std::span<attack const> attacks) {
  control(c, attacks);
  check_told_apart(c, operations_of(c, attacks));
}

void case_is_kept(context& c) { check_attacks(c, case_attacks()); }
void accents_are_kept(context& c) { check_attacks(c, accent_attacks()); }
void padding_is_kept(context& c) { check_attacks(c, padding_attacks()); }
void normal_forms_are_kept(context& c) { check_attacks(c, normal_attacks()); }

// IDC-05
void no_code_page(context& c) {
  check_attacks(c, code_page_attacks());
  auto& here = c.connect();
  auto& there = c.connect();
  for (auto const text : texts_of(code_page_attacks())) {
    auto const op = c.make_operation(std::string(text) + "/answer");
    response const r{200, {{"x-" + std::string(text), std::string(text)}}, std::string(text)};
    auto const first = run_answering(c, here, op, r);
    check_executed(c, first, shown(text));
    auto const again = run_answering(c, there, op, r);
    check_replayed(c, again, first, shown(text) + " asked again");
    c.check(response_of(again) != nullptr && *response_of(again) == r,
            shown(text) + " comes back byte for byte");
  }
}

/// A text that no identity may hold: alone, at the front, inside and at the end of every part.
void check_text_refused(context& c, std::string_view bad) {
  std::string const b(bad);
  for (auto const& text : {b, b + "z", "a" + b + "z", "a" + b}) {
    check_no_identity(c, {text, plain_operation, "key"}, shown(text) + " as scope");
    check_no_identity(c, {c.scope(), text, "key"}, shown(text) + " as operation");
    check_no_identity(c, {c.scope(), plain_operation, text}, shown(text) + " as key");
  }
}

void check_nothing_was_sent(context& c, std::int64_t records) {
  c.check(c.body_calls() == 0 && c.engine().record_count(c.observer()) == records,
          "no effect ran and no record was made");
}

// IDC-06
void nul_in_identity(context& c) {
  auto const records = c.must(c.engine().record_count(c.observer()), "the records are counted");
  check_text_refused(c, std::string_view("\0", 1));
  check_nothing_was_sent(c, records);
  std::string const first("a\0b", 3), second("a\0c", 3);
  check_contents_differ(
      c, "nul-",
      {bytes_content(first), bytes_content(second), bytes_content("a"),
       bytes_content(std::string_view("a\0", 2)), fields_content("NUL in a field", {{"f", first}}),
       fields_content("other NUL in a field", {{"f", second}}), json_content(R"("a\u0000b")"),
       json_content(R"("a\u0000c")")});
  auto& s = c.connect();
  for (auto const& body : {first, second, std::string("\0", 1), std::string("a\0", 2)}) {
    auto const op = c.make_operation("answer " + std::to_string(c.body_calls()));
    response const r{200, {{"bytes", body}}, body};
    auto const told = run_answering(c, s, op, r);
    check_executed(c, told, shown(body));
    auto const again = run_answering(c, s, op, r);
    check_replayed(c, again, told, shown(body) + " asked again");
    c.check(again.body() == body, shown(body) + " comes back byte for byte");
  }
}

// IDC-07
void invalid_utf8_in_identity(context& c) {
  auto const records = c.must(c.engine().record_count(c.observer()), "the records are counted");
  for (auto const bad : invalid_utf8()) check_text_refused(c, bad);
  check_nothing_was_sent(c, records);
  // What a replacing library would make of them is a key of its own.
  check_told_apart(
      c, {c.make_operation("\xEF\xBF\xBD"), c.make_operation("a\xEF\xBF\xBD"),
          c.make_operation("a\xEF\xBF\xBDz"), c.make_operation("a?z"), c.make_operation("az")});
  std::vector<field> const text{{"f", std::string("\xC3")}};
  auto const made = c.idem().from_fields({c.scope(), plain_operation, "text"}, text);
  c.check(!made && made.error().what == errc::invalid_argument, "a field's text must be UTF-8");
  check_contents_differ(
      c, "bytes-",
      {bytes_content("\xC3"), bytes_content("\xFF"), bytes_content("\xEF\xBF\xBD"),
       bytes_content("\xC3\x83"), fields_content("bytes", {{"f", field_bytes{"\xC3"}}}),
       fields_content("other", {{"f", field_bytes{"\xFF"}}})});
}

// IDC-08
void no_type_affinity(context& c) {
  auto const texts = texts_of(number_attacks());
  check_told_apart(c, operations_of(c, number_attacks()));
  c.check(c.body_calls() == static_cast<int>(texts.size() * 3),
          std::to_string(texts.size()) + " texts in three places are as many effects");
  check_contents_differ(
      c, "typed-",
      {bytes_content("1"), fields_content("integer 1", {{"f", std::int64_t{1}}}),
       fields_content("text 1", {{"f", std::string("1")}}),
       fields_content("bytes 1", {{"f", field_bytes{"1"}}}), fields_content("true", {{"f", true}}),
       json_content("1"), json_content("\"1\""), json_content("true"), json_content("[1]"),
       fields_content("text 01", {{"f", std::string("01")}})});
  auto& s = c.connect();
  for (std::string_view const body : {"1", "1.0", "01", "31", "x'31'", "true", "null"}) {
    auto const op = c.make_operation("body " + std::string(body));
    response const r{200, {{"n", std::string(body)}}, std::string(body)};
    auto const first = run_answering(c, s, op, r);
    check_executed(c, first, shown(body));
    check_replayed(c, run_answering(c, s, op, r), first, shown(body) + " asked again");
  }
}

// IDC-11
void parts_do_not_run_together(context& c) {
  std::vector<operation> operations;
  auto const& s = c.scope();
  for (std::string const separator : {":", "/", "|", ",", " ", "\x1F", "%3A", "\\"}) {
    std::string const tail = separator + "b", front = "b" + separator;
    operations.push_back(c.make_operation({s + tail, "op", "c"}, "payload"));
    operations.push_back(c.make_operation({s, front + "op", "c"}, "payload"));
    operations.push_back(c.make_operation({s, "op" + tail, "c"}, "payload"));
    operations.push_back(c.make_operation({s, "op", front + "c"}, "payload"));
  }
  // The same bytes in a row, cut elsewhere.
  operations.push_back(c.make_operation({s + "a", "b", "cd"}, "payload"));
  operations.push_back(c.make_operation({s + "ab", "c", "d"}, "payload"));
  operations.push_back(c.make_operation({s, "abc", "d"}, "payload"));
  operations.push_back(c.make_operation({s, "ab", "cd"}, "payload"));
  operations.push_back(c.make_operation({s, "a", "bcd"}, "payload"));
  check_told_apart(c, operations);
  check_no_identity(c, {"", s, "ab"}, "an empty scope before its neighbour");
  check_no_identity(c, {s, "", "ab"}, "an empty operation before its neighbour");
  check_no_identity(c, {s, "ab", ""}, "an empty key after its neighbour");
  auto const text = [](std::string_view t) { return field_value(std::string(t)); };
  check_contents_differ(c, "fields-",
                        {fields_content("a:b, c", {{"x", text("a:b")}, {"y", text("c")}}),
                         fields_content("a, b:c", {{"x", text("a")}, {"y", text("b:c")}}),
                         fields_content("names a:b", {{"a:b", text("c")}}),
                         fields_content("names a", {{"a", text("b:c")}}),
                         fields_content("names ab", {{"ab", text("c")}}),
                         fields_content("names a, bc", {{"a", text("bc")}})});
}

// IDC-12
void metacharacters(context& c) {
  auto const before = c.must(c.engine().record_count(c.observer()), "the records are counted");
  auto const operations = operations_of(c, sql_attacks());
  check_told_apart(c, operations);
  auto const after = c.engine().record_count(c.observer());
  c.check(after && *after - before == static_cast<std::int64_t>(operations.size()),
          "the table is there and has " + std::to_string(operations.size()) + " more records");
  auto& s = c.connect();
  for (auto const text : texts_of(sql_attacks())) {
    auto const op = c.make_operation("answer/" + std::string(text), text);
    response const r{200, {{std::string(text), std::string(text)}}, std::string(text)};
    auto const first = run_answering(c, s, op, r);
    check_executed(c, first, shown(text));
    auto const again = run_answering(c, s, op, r);
    check_replayed(c, again, first, shown(text) + " asked again");
    c.check(again.body() == text, shown(text) + " comes back byte for byte");
  }
}

constexpr std::array all{
    scenario{"IDC-01", case_is_kept, std::nullopt, nullptr},
    scenario{"IDC-02", accents_are_kept, std::nullopt, nullptr},
    scenario{"IDC-03", padding_is_kept, std::nullopt, nullptr},
    scenario{"IDC-04", normal_forms_are_kept, std::nullopt, nullptr},
    scenario{"IDC-05", no_code_page, std::nullopt, nullptr},
    scenario{"IDC-06", nul_in_identity, std::nullopt, nullptr},
    scenario{"IDC-07", invalid_utf8_in_identity, std::nullopt, nullptr},
    scenario{"IDC-08", no_type_affinity, std::nullopt, nullptr},
    scenario{"IDC-09", stored_bytes_end_as_they_are, std::nullopt, nullptr},
    scenario{"IDC-10", every_character, std::nullopt, nullptr},
    scenario{"IDC-11", parts_do_not_run_together, std::nullopt, nullptr},
    scenario{"IDC-12", metacharacters, std::nullopt, nullptr},
    scenario{"IDC-14", places_do_not_matter, std::nullopt, nullptr},
    scenario{"IDC-15", golden_vectors, std::nullopt, nullptr},
    scenario{"IDC-17", records_move, capability::other_collation, nowhere_to_move},
};

}  // namespace

std::span<scenario const> identity_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
