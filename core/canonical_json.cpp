// SPDX-License-Identifier: BSL-1.0
#include "core/canonical_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

// A namespace of our own: a program that links us may hold RapidJSON built with other switches.
#define RAPIDJSON_NAMESPACE idem_rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace idem_rapidjson {
#define RAPIDJSON_NAMESPACE_END }
#ifdef __clang__
// RapidJSON 1.1.0 adds to the null pointer of its still empty stack, to see that it must grow.
// UBSan would stop every test there; our own code stays checked.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include "core/canonical_number.h"
#include "core/json_error.h"
#include "core/json_left_out.h"
#include "core/json_stream.h"
#include "core/utf8.h"

namespace idem::inline v1::detail {
namespace {

namespace rapidjson = ::idem_rapidjson;

// The canonical form is less than 5 times the text ("1e20," becomes 22 bytes), so that with
// this ceiling, whatever `max_bytes` says, every position fits 32 bits. That halves the
// memory of a member, the largest cost of a text of many short ones.
constexpr std::size_t max_bytes_ceiling = std::size_t{1} << 29;

/// RapidJSON's own allocator hands on a null pointer, which the parser then writes to.
struct throwing_allocator {
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }

  void* Realloc(void* old, std::size_t, std::size_t size) {
    if (size == 0) {
      Free(old);
      return nullptr;
    }
    void* const grown = std::realloc(old, size);
    if (grown == nullptr) throw std::bad_alloc();
    return grown;
  }

  static void Free(void* memory) { std::free(memory); }
};

std::string_view short_escape(char c) noexcept {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\t':
      return "\\t";
    case '\n':
      return "\\n";
    case '\f':
      return "\\f";
    case '\r':
      return "\\r";
    default:
      return {};
  }
}

bool needs_escape(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

void append_escaped(char c, std::string& out) {
  if (auto const known = short_escape(c); !known.empty()) {
    out += known;
    return;
  }
  constexpr std::string_view hex = "0123456789abcdef";
  auto const unit = static_cast<unsigned char>(c);
  out.append("\\u00").append(1, hex[unit >> 4]).append(1, hex[unit & 0xF]);
}

/// RFC 8785 section 3.2.2.2.
void append_string(std::string_view plain, std::string& out) {
  out += '"';
  while (!plain.empty()) {
    auto const end = std::ranges::find_if(plain, needs_escape);
    auto const size = static_cast<std::size_t>(end - plain.begin());
    out.append(plain, 0, size);
    if (size == plain.size()) break;
    append_escaped(*end, out);
    plain.remove_prefix(size + 1);
  }
  out += '"';
}

/// One member of an object not yet closed: where its unescaped name is in `names_`, and its
/// canonical `"name":value` in `out_`. A left-out member has no text but keeps its name, so
/// that its duplicate is found.
struct member {
  std::uint32_t name_begin = 0;
  std::uint32_t name_size = 0;
  std::uint32_t text_begin = 0;
  std::uint32_t text_size = 0;
};

/// An object or array not yet closed.
struct frame {
  bool is_object = false;
  left_out_tree::node node = left_out_tree::nowhere;     ///< of the object or array
  left_out_tree::node current = left_out_tree::nowhere;  ///< of the value being read in it
  std::size_t text_begin = 0;                            ///< of its content in `out_`
  std::size_t names_begin = 0;
  std::size_t members_begin = 0;
  std::size_t next_index = 0;
};

/// RapidJSON's handler: writes the canonical form while the text is read, and sorts each
/// object's members in place when it closes. A member is moved once per enclosing object whose
/// members come out of order, so the work is the text's size times `max_depth` at worst.
class writer : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, writer> {
 public:
  writer(json_stream const& stream, left_out_tree const& left_out, json_limits const& limits)
      : stream_(stream), left_out_(left_out), limits_(limits) {}

  // RapidJSON's names. False stops the parser; the reason is in `failure`.
  bool Default() { return false; }  // events that the flags leave no way to reach
  bool Null() { return literal("null"); }
  bool Bool(bool value) { return literal(value ? "true" : "false"); }
  bool RawNumber(char const* text, rapidjson::SizeType size, bool copy);
  bool String(char const* text, rapidjson::SizeType size, bool copy);
  bool Key(char const* text, rapidjson::SizeType size, bool copy);
  bool StartObject() { return open('{'); }
  bool EndObject(rapidjson::SizeType) { return close_object() && close('}'); }
  bool StartArray() { return open('['); }
  bool EndArray(rapidjson::SizeType) { return close(']'); }

  void expect(std::size_t bytes) { out_.reserve(bytes); }
  std::optional<error> const& failure() const { return failure_; }
  std::string take() { return std::move(out_); }

 private:
  bool fail(std::unexpected<error> reason);
  bool check_string(std::string_view plain);
  bool literal(std::string_view text);
  bool open(char bracket);
  bool close(char bracket);
  bool close_object();
  bool begin_value();
  bool begin_element(frame& array);
  bool end_value();
  bool sort_members(std::span<member> members);
  void rewrite_members(std::span<member const> members, std::size_t text_begin);
  void separate(char opening);

  std::string_view name_of(member const& m) const {
    return std::string_view(names_).substr(m.name_begin, m.name_size);
  }

  json_stream const& stream_;
  left_out_tree const& left_out_;
  json_limits const& limits_;
  std::string out_;
  std::string names_;    ///< of the members of all open objects, unescaped, end to end
  std::string scratch_;  ///< an object's content while its members are put in order
  std::vector<member> members_;
  std::vector<frame> frames_;
  std::optional<error> failure_;
};

bool writer::fail(std::unexpected<error> reason) {
  failure_ = std::move(reason).error();
  return false;
}

/// The text as a whole is UTF-8; RapidJSON lets an escaped low surrogate through.
bool writer::check_string(std::string_view plain) {
  return is_utf8(plain) || fail(invalid_argument("JSON text escapes a lone surrogate"));
}

bool writer::literal(std::string_view text) {
  if (!begin_value()) return false;
  out_ += text;
  return end_value();
}

bool writer::RawNumber(char const*, rapidjson::SizeType, bool) {
  if (!begin_value()) return false;
  auto appended = append_canonical_number(stream_.last_number(), limits_, out_);
  if (!appended) return fail(std::unexpected(std::move(appended).error()));
  return end_value();
}

bool writer::String(char const* text, rapidjson::SizeType size, bool) {
  std::string_view const plain(text, size);
  if (!check_string(plain) || !begin_value()) return false;
  append_string(plain, out_);
  return end_value();
}

bool writer::Key(char const* text, rapidjson::SizeType size, bool) {
  std::string_view const name(text, size);
  if (!check_string(name)) return false;
  separate('{');
  auto& object = frames_.back();
  object.current = left_out_.child(object.node, name);
  members_.push_back({.name_begin = static_cast<std::uint32_t>(names_.size()),
                      .name_size = size,
                      .text_begin = static_cast<std::uint32_t>(out_.size())});
  names_ += name;
  append_string(name, out_);
  out_ += ':';
  return true;
}

/// No value ends in an opening bracket, so the last byte tells whether this is the first.
void writer::separate(char opening) {
  if (out_.back() != opening) out_ += ',';
}

bool writer::begin_value() {
  if (frames_.empty() || frames_.back().is_object) return true;
  separate('[');
  return begin_element(frames_.back());
}

bool writer::begin_element(frame& array) {
  auto const index = array.next_index++;
  if (array.node == left_out_tree::nowhere) return true;
  std::array<char, 20> token{};
  auto const end = std::to_chars(token.data(), token.data() + token.size(), index).ptr;
  array.current = left_out_.child(array.node, std::string_view(token.data(), end));
  if (!left_out_.is_left_out(array.current)) return true;
  return fail(
      invalid_argument("a left-out JSON Pointer names an array element; only members "
                       "can be left out"));
}

bool writer::end_value() {
  if (frames_.empty() || !frames_.back().is_object) return true;
  auto& m = members_.back();
  if (left_out_.is_left_out(frames_.back().current)) {
    out_.resize(m.text_begin);
    if (out_.back() == ',') out_.pop_back();
    return true;
  }
  m.text_size = static_cast<std::uint32_t>(out_.size() - m.text_begin);
  return true;
}

bool writer::open(char bracket) {
  if (frames_.size() >= limits_.max_depth) {
    return fail(over_bound("nesting depth", frames_.size() + 1, "max_depth", limits_.max_depth));
  }
  if (!begin_value()) return false;
  auto const node = frames_.empty() ? left_out_tree::root : frames_.back().current;
  out_ += bracket;
  frames_.push_back({.is_object = bracket == '{',
                     .node = node,
                     .text_begin = out_.size(),
                     .names_begin = names_.size(),
                     .members_begin = members_.size()});
  return true;
}

bool writer::close(char bracket) {
  out_ += bracket;
  frames_.pop_back();
  return end_value();
}

bool writer::close_object() {
  auto const& object = frames_.back();
  auto const members = std::span(members_).subspan(object.members_begin);
  auto const in_order = [this](member const& a, member const& b) {
    return less_by_utf16(name_of(a), name_of(b));
  };
  // The common case costs one look at each name: in order, and so without a duplicate.
  auto const disorder = std::ranges::adjacent_find(
      members, [&](member const& a, member const& b) { return !in_order(a, b); });
  if (disorder != members.end()) {
    if (!sort_members(members)) return false;
    rewrite_members(members, object.text_begin);
  }
  members_.resize(object.members_begin);
  names_.resize(object.names_begin);
  return true;
}

bool writer::sort_members(std::span<member> members) {
  auto const name = [this](member const& m) { return name_of(m); };
  std::ranges::sort(members, less_by_utf16, name);
  if (std::ranges::adjacent_find(members, {}, name) == members.end()) return true;
  return fail(invalid_argument("JSON text has two members of one name in an object"));
}

void writer::rewrite_members(std::span<member const> members, std::size_t text_begin) {
  scratch_.assign(out_, text_begin);
  out_.resize(text_begin);
  for (auto const& m : members) {
    if (m.text_size == 0) continue;
    separate('{');
    out_.append(scratch_, m.text_begin - text_begin, m.text_size);
  }
}

std::unexpected<error> malformed(rapidjson::ParseErrorCode code, std::size_t offset) {
  auto const at = " at byte " + std::to_string(offset);
  if (code == rapidjson::kParseErrorStringUnicodeSurrogateInvalid) {
    return invalid_argument("JSON text escapes a lone surrogate" + at);
  }
  return invalid_argument("JSON text is not well-formed" + at);
}

}  // namespace

result<std::string> canonical_json(std::string_view text, std::span<std::string const> left_out,
                                   json_limits const& limits) {
  if (auto const limit = std::min(limits.max_bytes, max_bytes_ceiling); text.size() > limit) {
    return over_bound("text's size in bytes", text.size(), "max_bytes", limit);
  }
  auto const tree = left_out_tree::make(left_out);
  if (!tree) return std::unexpected(tree.error());
  if (!is_utf8(text)) return invalid_argument("JSON text is not UTF-8");

  json_stream stream(text);
  writer handler(stream, *tree, limits);
  handler.expect(text.size());
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, throwing_allocator> reader;
  constexpr unsigned flags = rapidjson::kParseNumbersAsStringsFlag |
                             rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  auto const parsed = reader.Parse<flags>(stream, handler);
  if (handler.failure()) return std::unexpected(*handler.failure());
  if (parsed.IsError()) return malformed(parsed.Code(), parsed.Offset());
  // The parser takes a NUL for the end of the text.
  if (stream.Tell() != text.size()) return malformed(rapidjson::kParseErrorNone, stream.Tell());
  return handler.take();
}

}  // namespace idem::inline v1::detail
