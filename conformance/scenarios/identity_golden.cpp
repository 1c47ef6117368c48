// SPDX-License-Identifier: BSL-1.0
// IDC-15: published requests, their canonical bytes and their digests. The digests were made by
// another program (Python's hashlib over the layout that docs/fingerprint.md describes), so that
// a change of the library shows here, whatever machine it was built for.
#include <array>
#include <span>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/identity_parts.h"

namespace idem::inline v1::conformance {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t published = 23;
constexpr auto rehearsal = rehearsal_fingerprint_version;

struct vector {
  content request;
  std::string canonical;
  std::string_view digest;
  fingerprint_version version = current_fingerprint_version;
};

std::string every_byte() {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  return all;
}

content json_leaving_out(std::string text, std::vector<std::string> pointers) {
  return {"JSON " + shown(text) + " with members left out", [=](contract& idem, identity_parts id) {
            json_options options;
            options.left_out = pointers;
            return idem.from_json(id, text, options);
          }};
}

std::vector<field> every_type() {
  return {{"urgent", true},
          {"note", std::monostate{}},
          {"currency", std::string("\xE2\x82\xAC")},
          {"blob", field_bytes{std::string("\0\xFF", 2)}},
          {"amount", std::int64_t{-5}}};
}

std::string canonical_of_every_type() {
  return std::string(
      "\0\0\0\0\0\0\0\x06"
      "amount\x02\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFB"
      "\0\0\0\0\0\0\0\x04"
      "blob\x04\0\0\0\0\0\0\0\x02\0\xFF"
      "\0\0\0\0\0\0\0\x08"
      "currency\x03\0\0\0\0\0\0\0\x03\xE2\x82\xAC"
      "\0\0\0\0\0\0\0\x04note\0"
      "\0\0\0\0\0\0\0\x06urgent\x01\x01"sv);
}

// clang-format off
std::vector<vector> bytes_vectors() {
  return {
      {no_content(), "", "fd1cb381ef34acdb24b103468738d8b8c8ec5bd55134d89cd8a01be70cb62e62"},
      {bytes_content(""), "", "a419b7a0f0a32b7bfea74e0e5c17defcd83e91db44b48be17f167e0b8599d332"},
      {bytes_content("0"), "0", "9d262c0c69aa3743731ca16bd5b5c3c062a95f2f9ed455be73e00b0601a52816"},
      {bytes_content("abc"), "abc", "705ac8f696a560d3ead6821e1e247868d56f9326d2c9b6a926aa38c0b7e6bd79"},
      {bytes_content("abc"), "abc", "f2b0cef34e9abf3aff47c681b8391623ee19db83cb54a64f74ee9a3ae7ab4dd1", rehearsal},
      {bytes_content(every_byte()), every_byte(), "14cffdb90efe8dfdf9b32b2af63609e3df70d87461bfa79bd7c3cc7c04f523af"},
      {bytes_content(std::string(100000, 'x')), std::string(100000, 'x'), "bb9c89d18a7f8b180486934b396cd410bf0789bc4c8e5d0de376cfb5acee4382"},
      // These two share their digests' first two bytes.
      {bytes_content("golden 22"), "golden 22", "f37040811e5681e37f434c93869d5c2ed0c7210bf6cae3f6f0454d7b4027211f"},
      {bytes_content("golden 81"), "golden 81", "f3707decd121b1179dc07e03f30161af26cb0b739e2be01eed05027c8b08b7c3"},
  };
}

std::vector<vector> fields_vectors() {
  return {
      {fields_content("no field", {}), "", "fde57e8a09f6e70c1622757da546fc41b0e5ed16909acfd938aadb2451f4f334"},
      {fields_content("every type", every_type()), canonical_of_every_type(), "c770a20328e98969e5efc3a6deb042522494b7af135e8c3fc27b9971c4745336"},
      {fields_content("every type", every_type()), canonical_of_every_type(), "0ec2a20e1f8ff368704a3c57cdd0a9096ee03235b0d11ce1608a09007b5a305a", rehearsal},
      {fields_content("a is b:c", {{"a", std::string("b:c")}}), std::string("\0\0\0\0\0\0\0\x01" "a\x03" "\0\0\0\0\0\0\0\x03" "b:c"sv), "cfd11b38e749c32cfb489872f2736da116edd14d57a130eb4380005f5dc86fd3"},
      {fields_content("a:b is c", {{"a:b", std::string("c")}}), std::string("\0\0\0\0\0\0\0\x03" "a:b\x03" "\0\0\0\0\0\0\0\x01" "c"sv), "cab330771d1c31903a0289ec5c6f104695de9f97b39e95bf86ffc4ece9d0ff29"},
      // Where char is signed, names must still be ordered as bytes.
      {fields_content("é after z", {{"\xC3\xA9", std::int64_t{1}}, {"z", std::int64_t{2}}}), std::string("\0\0\0\0\0\0\0\x01" "z\x02" "\0\0\0\0\0\0\0\x02" "\0\0\0\0\0\0\0\x02" "\xC3\xA9\x02" "\0\0\0\0\0\0\0\x01"sv), "aae090d1857927ef4a9343750b4f9f67eb619658cff3fed930e9064610d4ab31"},
  };
}

std::vector<vector> json_vectors() {
  return {
      {json_content("{ \"b\" : [1, 2,\t{\"c\":null}],\r\n\"a\" : 1 }"), R"({"a":1,"b":[1,2,{"c":null}]})", "de8c2459c93d70c7e02391e9f54da1fb000121b944c83d80e41ed084ce47a316"},
      {json_content(R"({"b":[1,2,{"c":null}],"a":1})"), R"({"a":1,"b":[1,2,{"c":null}]})", "4061322c259eab695c796fa85d625231f1afbc13b325e304e052c10da1b4dd8a", rehearsal},
      {json_content("[1.0,1e0,1E+2,0.001,0.0000001,1e21,9007199254740993,-5.00,-0.0]"), "[1,1,100,0.001,1e-7,1e+21,9007199254740993,-5,0]", "a1120c37470755affb279249c64d8cb814c99cfb59ed6e702ca8691e5ee6e3ef"},
      {json_content(R"({"":"\u20ac\u000F\n\u0022\u005C\/\ud83d\ude00"})"), "{\"\":\"\xE2\x82\xAC\\u000f\\n\\\"\\\\/\xF0\x9F\x98\x80\"}", "8dacfa5ec0112b5f8f3ef443e2adb007e726993e9ec2bac7924e40fff059065b"},
      {json_content(R"({"\ufb33":2,"\ud83d\ude00":1})"), "{\"\xF0\x9F\x98\x80\":1,\"\xEF\xAC\xB3\":2}", "a9455dea97bf88183a9ecc7f71825a176220717909672adda93fef10fa7676f1"},
      {json_leaving_out(R"({"time":1,"amount":5,"meta":{"trace":"x","at":"noon"}})", {"/time", "/meta/trace"}), R"({"amount":5,"meta":{"at":"noon"}})", "bc4045936103d5e5ea9cb54284f6f67496b14115a6173d62ce813e3351f3d7d1"},
      // The list is a set and is part of the digest, whether or not a member is there.
      {json_leaving_out(R"({"meta":{"at":"noon"},"amount":5})", {"/meta/trace", "/time", "/time"}), R"({"amount":5,"meta":{"at":"noon"}})", "bc4045936103d5e5ea9cb54284f6f67496b14115a6173d62ce813e3351f3d7d1"},
      {json_content(R"({"amount":5,"meta":{"at":"noon"}})"), R"({"amount":5,"meta":{"at":"noon"}})", "7eff851294743d86ac726cf15add87e63d57f6c4fa16d24ff30cac1ae553933b"},
  };
}
// clang-format on

std::vector<vector> all_vectors() {
  std::vector<vector> all = bytes_vectors();
  for (auto& more : {fields_vectors(), json_vectors()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string hex(std::array<std::byte, 32> const& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (auto const b : digest) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 0xF];
  }
  return text;
}

void check_vector(context& c, vector const& v, std::string const& key) {
  auto const made = v.request.make(c.idem(), {c.scope(), "debit:v1", key});
  if (!c.check(made.has_value(), v.request.name + " is a request")) return;
  c.check(made->canonical() == v.canonical, v.request.name + " has the published canonical bytes");
  auto const print = c.idem().fingerprint_of(*made, v.version);
  c.check(print && print->version == v.version && hex(print->digest) == v.digest,
          v.request.name + " has the published digest; it was: " +
              (print ? hex(print->digest) : describe(print.error())));
}

// What is published is also what is stored, and what a later request is compared with.
void check_stored_vector(context& c, session& s, vector const& v, std::string const& key) {
  auto const op =
      c.wrap(c.must(v.request.make(c.idem(), {c.scope(), "debit:v1", key}), "a request is made"));
  run_options options;
  options.write_version = v.version;
  options.store_canonical_request = true;
  auto const first = c.run(s, op, options);
  check_executed(c, first, v.request.name);
  auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
  c.check(found && found->fingerprint.version == v.version &&
              hex(found->fingerprint.digest) == v.digest && found->canonical_request == v.canonical,
          v.request.name + " is stored under the published digest, with the canonical bytes");
  check_replayed(c, c.run(s, op), first, v.request.name + " asked again");
}

}  // namespace

void check_published_digests(context& c, std::string const& key_prefix) {
  std::size_t checked = 0;
  for (auto const& v : all_vectors()) check_vector(c, v, key_prefix + std::to_string(++checked));
  c.check(checked == published, std::to_string(checked) + " published requests were checked");
}

void golden_vectors(context& c) {
  auto& s = c.connect();
  std::size_t checked = 0;
  for (auto const& v : all_vectors()) {
    std::string const key = "golden-" + std::to_string(++checked);
    check_vector(c, v, key);
    check_stored_vector(c, s, v, key);
  }
  c.check(checked == published, std::to_string(published) + " vectors are published and " +
                                    std::to_string(checked) + " were checked");
  if (checked == published) c.mark("all_published_checked");
  auto const first = c.make_operation("near", "golden 22");
  check_executed(c, c.run(s, first), "the first of two near digests");
  check_mismatched(c, c.run(s, c.make_operation("near", "golden 81")), "the second of them");
}

}  // namespace idem::inline v1::conformance
