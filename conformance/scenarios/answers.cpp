// SPDX-License-Identifier: BSL-1.0
#include "conformance/scenarios/answers.h"

#include <map>
#include <utility>

#include "conformance/digest.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::string_view operation_name = "debit:v1";

void note_answer(context& c, operation const& op, call const& called) {
  if (!called.answered) {
    bool const unknown = called.answered.error().certainty == certainty::in_doubt;
    return c.note(op, unknown ? told::unknown : told::failed);
  }
  auto const* r = response_of(called);
  if (called.is<executed>()) return c.note(op, told::executed, digest_of(*r));
  if (auto const* again = called.get<replayed>())
    return again->was_refusal ? c.note(op, told::refusal_stored)
                              : c.note(op, told::replayed, digest_of(*r));
  if (auto const* no = called.get<refused>())
    return c.note(op, no->stored ? told::refusal_stored : told::refused);
  c.note(op, called.is<mismatched>() ? told::mismatched : told::in_progress);
}

std::map<std::string, std::vector<std::string>> nonces_by_tag(context& c) {
  std::map<std::string, std::vector<std::string>> nonces;
  for (auto& row : c.must(c.engine().ledger(c.observer()), "the observer reads the ledger"))
    nonces[row.tag].push_back(std::move(row.nonce));
  return nonces;
}

std::string name_of(identity const& id) {
  return shown(id.scope()) + " " + shown(id.operation()) + " " + shown(id.key());
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  constexpr std::size_t longest = 48;
  std::string out = "\"";
  for (char const c : text.substr(0, longest)) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\')
      out += c;
    else
      out.append("\\x").append(1, hex[byte >> 4]).append(1, hex[byte & 0xF]);
  }
  out += '"';
  if (text.size() > longest) out += " and " + std::to_string(text.size() - longest) + " bytes";
  return out;
}

std::string digest_of(response const& r) {
  auto const headers = encode_headers(r);
  std::string all = std::to_string(r.status) + " " + std::to_string(headers.size()) + " " + headers;
  if (r.body) all.append(1, '+').append(*r.body);
  return sha256_hex(all);
}

response const* response_of(call const& called) noexcept {
  if (auto const* e = called.get<executed>()) return &e->response;
  if (auto const* r = called.get<replayed>()) return &r->response;
  if (auto const* r = called.get<refused>()) return &r->response;
  return nullptr;
}

call run_answering(context& c, session& s, operation const& op, response const& r,
                   run_options const& options) {
  effect_function const effect = [&](transaction& tx) -> result<answer> {
    c.count_body_call(op);
    auto written = c.engine().write(tx, {op.tag, digest_of(r), 0, op.amount});
    if (!written) return std::unexpected(std::move(written).error());
    return answer(r);
  };
  lone_session source(s);
  call called{c.idem().run(source, op.request, effect, options)};
  note_answer(c, op, called);
  return called;
}

bool check_executed(context& c, call const& called, std::string const& what,
                    std::source_location where) {
  return c.check(called.is<executed>(), what + " is executed; it was: " + called.name(), where);
}

bool check_replayed(context& c, call const& later, call const& first, std::string const& what,
                    std::source_location where) {
  auto const* again = later.get<replayed>();
  if (again == nullptr)
    return c.check(false, what + " is replayed; it was: " + later.name(), where);
  auto const* expected = response_of(first);
  return c.check(expected != nullptr && again->response == *expected,
                 what + " gets the first call's response, all of it", where);
}

bool check_mismatched(context& c, call const& called, std::string const& what,
                      std::source_location where) {
  return c.check(called.is<mismatched>(), what + " is a mismatch; it was: " + called.name(), where);
}

bool check_failed(context& c, call const& called, errc code, std::string const& what,
                  std::source_location where) {
  return c.check(
      called.failed_with(code),
      what + " is the error " + std::string(to_string(code)) + "; it was: " + called.name(), where);
}

void check_no_identity(context& c, identity_parts parts, std::string const& what,
                       std::source_location where) {
  auto const made = c.idem().from_bytes(parts, "payload");
  bool const refused = !made && made.error().what == errc::invalid_argument &&
                       made.error().phase == phase::validate &&
                       made.error().certainty == certainty::not_executed &&
                       made.error().advice == advice::never;
  c.check(refused,
          what + " makes no request: invalid_argument before anything is sent; it was: " +
              (made ? "a request" : describe(made.error())),
          where);
}

void check_told_apart(context& c, std::vector<operation> const& operations,
                      std::source_location where) {
  auto& first = c.connect();
  auto& second = c.connect();
  std::vector<call> calls;
  for (auto const& op : operations) {
    calls.push_back(c.run(first, op));
    check_executed(c, calls.back(), name_of(op.request.identity()), where);
  }
  for (std::size_t i = operations.size(); i-- > 0;)
    check_replayed(c, c.run(second, operations[i]), calls[i],
                   name_of(operations[i].request.identity()) + " asked again", where);
  auto const nonces = nonces_by_tag(c);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto const found = nonces.find(operations[i].tag);
    bool const own = found != nonces.end() && found->second == std::vector{calls[i].body()};
    c.check(own, name_of(operations[i].request.identity()) + " has one effect, its own", where);
  }
}

content bytes_content(std::string_view bytes) {
  return {"bytes " + shown(bytes), [text = std::string(bytes)](contract& idem, identity_parts id) {
            return idem.from_bytes(id, std::string_view(text));
          }};
}

content no_content() {
  return {"no body",
          [](contract& idem, identity_parts id) { return idem.from_bytes(id, std::nullopt); }};
}

content fields_content(std::string name, std::vector<field> fields) {
  return {std::move(name), [fields = std::move(fields)](contract& idem, identity_parts id) {
            return idem.from_fields(id, fields);
          }};
}

content json_content(std::string text) {
  return {"JSON " + shown(text),
          [text](contract& idem, identity_parts id) { return idem.from_json(id, text, {}); }};
}

void check_contents_differ(context& c, std::string const& key_prefix,
                           std::vector<content> const& contents, std::source_location where) {
  auto& s = c.connect();
  for (std::size_t i = 0; i < contents.size(); ++i) {
    auto const key = key_prefix + std::to_string(i);
    auto const under_key = [&](content const& wanted) {
      identity_parts const id{c.scope(), operation_name, key};
      return c.wrap(c.must(wanted.make(c.idem(), id), "a request of " + wanted.name, where));
    };
    auto const own = under_key(contents[i]);
    auto const first = c.run(s, own);
    check_executed(c, first, contents[i].name, where);
    for (std::size_t j = 0; j < contents.size(); ++j)
      if (j != i)
        check_mismatched(c, c.run(s, under_key(contents[j])),
                         contents[j].name + " after " + contents[i].name, where);
    check_replayed(c, c.run(s, own), first, contents[i].name + " asked again", where);
    c.check(c.body_calls(own) == 1, contents[i].name + " is the only one that ran", where);
  }
}

}  // namespace idem::inline v1::conformance
