// SPDX-License-Identifier: BSL-1.0
// EMP: nothing, empty and zero are three things, in every place.
#include <array>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/groups.h"

namespace idem::inline v1::conformance {

namespace {

// EMP-01
void check_kept_as_it_is(context& c, session& s, std::string const& key, response const& r) {
  auto const op = c.make_operation(key);
  auto const first = run_answering(c, s, op, r);
  check_executed(c, first, key);
  auto const* told = response_of(first);
  c.check(told != nullptr && *told == r, key + " is told as it was answered");
  check_replayed(c, run_answering(c, s, op, r), first, key + " asked again");
  auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
  c.check(found && found->response == r, key + " is stored as it was answered");
}

void check_refusal_kept(context& c, session& s, std::string const& key, response const& r) {
  auto const op = c.make_operation(key);
  run_options store_it;
  store_it.refusals = refusal_policy::store;
  effect_function const no = [&](transaction&) -> result<answer> {
    c.count_body_call(op);
    return answer(refusal{r});
  };
  auto const first = c.run(s, op, no, store_it);
  c.check(first.is<refused>() && first.get<refused>()->response == r, key + " is refused");
  auto const again = c.run(s, op, no, store_it);
  check_replayed(c, again, first, key + " asked again");
  c.check(again.is<replayed>() && again.get<replayed>()->response == r,
          key + " is stored as it was answered");
}

void empty_is_not_nothing(context& c) {
  auto& s = c.connect();
  std::array<std::pair<std::string, response>, 7> const answers{{
      {"no body", {204, {}, std::nullopt}},
      {"empty body", {204, {}, ""}},
      {"zero", {204, {}, "0"}},
      {"one NUL", {204, {}, std::string(1, '\0')}},
      {"one space", {204, {}, " "}},
      {"empty header", {204, {{"x-empty", ""}}, std::nullopt}},
      {"empty name", {204, {{"", ""}}, ""}},
  }};
  for (auto const& [name, r] : answers) {
    check_kept_as_it_is(c, s, name, r);
    check_refusal_kept(c, s, name + ", refused", r);
  }
}

// EMP-02, EMP-03: what the engine itself would do is seen first, so that it is known what the
// refusal is good for.
constexpr std::array<std::string_view, 3> part_names{"scope", "operation", "key"};

identity_parts with_part(identity_parts id, std::size_t part, std::string_view text) {
  if (part == 0) id.scope = text;
  if (part == 1) id.operation = text;
  if (part == 2) id.key = text;
  return id;
}

void control_null_key(context& c, std::size_t part) {
  auto& s = c.connect();
  auto const before = c.must(c.engine().record_count(c.observer()), "the records are counted");
  auto const inserted = c.engine().insert_null_key(s, static_cast<int>(part));
  std::string const what = "NULL as " + std::string(part_names[part]);
  c.log(what + " straight into the records: " + (inserted ? "taken" : describe(inserted.error())));
  if (c.check(!inserted && inserted.error().what == errc::constraint_violation,
              what + " is refused by the schema"))
    c.mark("null_" + std::string(part_names[part]) + "_refused");
  c.check(c.engine().record_count(c.observer()) == before, what + " leaves no record");
}

void check_one_byte_works(context& c, identity_parts id) {
  auto const op = c.make_operation(id, "payload");
  auto& s = c.connect();
  auto const first = c.run(s, op);
  check_executed(c, first, "one byte in that place");
  check_replayed(c, c.run(s, op), first, "one byte in that place, again");
  c.check_stored(op, 1, true);
}

void empty_key(context& c) {
  auto const folded = c.engine().collapses(c.connect(), "", " ");
  if (folded) {
    c.log(std::string("as text, an empty key and a space are ") + (*folded ? "one" : "two"));
    c.mark("control_seen");
  }
  control_null_key(c, 2);
  auto const before = c.must(c.engine().record_count(c.observer()), "the records are counted");
  check_no_identity(c, {c.scope(), "debit:v1", ""}, "an empty key");
  check_no_identity(c, {c.scope(), "debit:v1", {}}, "a missing key");
  c.check(c.body_calls() == 0 && c.engine().record_count(c.observer()) == before,
          "no effect ran and no record was made");
  check_one_byte_works(c, {c.scope(), "debit:v1", "k"});
}

void empty_scope(context& c) {
  for (std::size_t part = 0; part < part_names.size(); ++part) control_null_key(c, part);
  auto const before = c.must(c.engine().record_count(c.observer()), "the records are counted");
  identity_parts const whole{c.scope(), "debit:v1", "key"};
  for (std::size_t part = 0; part < 2; ++part) {
    std::string const name(part_names[part]);
    check_no_identity(c, with_part(whole, part, ""), "an empty " + name);
    check_no_identity(c, with_part(whole, part, {}), "a missing " + name);
  }
  check_no_identity(c, {"", "", "key"}, "an empty scope and operation");
  c.check(c.body_calls() == 0 && c.engine().record_count(c.observer()) == before,
          "no effect ran and no record was made");
  std::string const unique_key = c.scope() + " one byte";
  check_one_byte_works(c, {"s", "debit:v1", unique_key});
  check_one_byte_works(c, {c.scope(), "o", "key"});
}

// EMP-04
void empty_content(context& c) {
  std::vector<content> const bodies{no_content(), bytes_content(""), bytes_content("0"),
                                    bytes_content(" "), bytes_content(std::string_view("\0", 1))};
  check_contents_differ(c, "body-", bodies);
  std::vector<content> const fields{fields_content("no field", {}),
                                    fields_content("a field of nothing", {{"a", std::monostate{}}}),
                                    fields_content("a field of empty text", {{"a", std::string()}}),
                                    fields_content("a field of no bytes", {{"a", field_bytes{}}}),
                                    fields_content("a field of false", {{"a", false}}),
                                    fields_content("a field of zero", {{"a", std::int64_t{0}}}),
                                    fields_content("a field of \"0\"", {{"a", std::string("0")}})};
  check_contents_differ(c, "fields-", fields);
  std::vector<content> const json{
      json_content("{}"),          json_content(R"({"a":null})"),  json_content(R"({"a":""})"),
      json_content(R"({"a":0})"),  json_content(R"({"a":false})"), json_content(R"({"a":{}})"),
      json_content(R"({"a":[]})"), json_content("null"),           json_content("\"\"")};
  check_contents_differ(c, "json-", json);
}

// EMP-05
constexpr std::array<std::string_view, 9> blanks{" ",           "  ", "   ",  "\t",
                                                 " \t",         "\n", "\r\n", "\xC2\xA0" /* NBSP */,
                                                 "\xE3\x80\x80" /* ideographic space */};

void only_spaces(context& c) {
  // A scope of spaces is no run's own, so there the key is.
  std::string const unique_key = c.scope() + " only spaces";
  std::vector<operation> operations;
  for (auto const blank : blanks) {
    operations.push_back(c.make_operation({c.scope(), "debit:v1", blank}, "payload"));
    operations.push_back(c.make_operation({c.scope(), blank, "key"}, "payload"));
    operations.push_back(c.make_operation({blank, "debit:v1", unique_key}, "payload"));
  }
  check_told_apart(c, operations);
}

// EMP-06
void json_is_kept_as_bytes(context& c) {
  auto& here = c.connect();
  auto& there = c.connect();
  std::array<std::string, 8> const bodies{R"({"b":1,"a":1.0})",
                                          "{ \"a\" : 1 ,\r\n\t\"a\" : 2 }\n",
                                          R"({"big":9007199254740993,"e":1e400,"z":-0.0,"n":1E+2})",
                                          R"(["\u00e9","é","\u0000","\/","\ud83d\ude00"])",
                                          "\xEF\xBB\xBF{}",
                                          "null",
                                          "\"\"",
                                          R"({"a":{"z":[],"y":{}},"":null})"};
  int number = 0;
  for (auto const& body : bodies) {
    auto const op = c.make_operation("json-" + std::to_string(++number));
    response const r{200, {{"content-type", "application/json"}}, body};
    auto const first = run_answering(c, here, op, r);
    check_executed(c, first, shown(body));
    auto const again = run_answering(c, there, op, r);
    check_replayed(c, again, first, shown(body) + " asked again");
    c.check(again.body() == body, shown(body) + " comes back byte for byte");
    c.check_stored(op, 1, true);
  }
}

constexpr std::array all{
    scenario{"EMP-01", empty_is_not_nothing, std::nullopt, nullptr},
    scenario{"EMP-02", empty_key, std::nullopt, nullptr},
    scenario{"EMP-03", empty_scope, std::nullopt, nullptr},
    scenario{"EMP-04", empty_content, std::nullopt, nullptr},
    scenario{"EMP-05", only_spaces, std::nullopt, nullptr},
    scenario{"EMP-06", json_is_kept_as_bytes, std::nullopt, nullptr},
};

}  // namespace

std::span<scenario const> empty_scenarios() { return all; }

}  // namespace idem::inline v1::conformance
