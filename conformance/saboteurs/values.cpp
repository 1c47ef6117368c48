// SPDX-License-Identifier: BSL-1.0
// Stores that do not keep values as they are: S11, S12, S13, S14.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "conformance/saboteurs/makers.h"
#include "conformance/saboteurs/spoiled_contract.h"

namespace idem::inline v1::conformance {

namespace {

// A number of code points that a collation of the ai_ci kind takes for one.
struct folding {
  char32_t first;
  char32_t last;
  std::string_view to;
};

// clang-format off
constexpr folding foldings[] = {
    {0x00AD, 0x00AD, ""},   {0x00DF, 0x00DF, "ss"}, {0x00C0, 0x00C5, "a"}, {0x00C7, 0x00C7, "c"},
    {0x00C8, 0x00CB, "e"},  {0x00CC, 0x00CF, "i"},  {0x00D1, 0x00D1, "n"}, {0x00D2, 0x00D6, "o"},
    {0x00D9, 0x00DC, "u"},  {0x00DD, 0x00DD, "y"},  {0x00E0, 0x00E5, "a"}, {0x00E7, 0x00E7, "c"},
    {0x00E8, 0x00EB, "e"},  {0x00EC, 0x00EF, "i"},  {0x00F1, 0x00F1, "n"}, {0x00F2, 0x00F6, "o"},
    {0x00F9, 0x00FC, "u"},  {0x00FD, 0x00FD, "y"},  {0x00FF, 0x00FF, "y"}, {0x0100, 0x0105, "a"},
    {0x0106, 0x010D, "c"},  {0x0112, 0x011B, "e"},  {0x0128, 0x0131, "i"}, {0x0143, 0x0148, "n"},
    {0x014C, 0x0151, "o"},  {0x015A, 0x0161, "s"},  {0x0168, 0x0173, "u"}, {0x0179, 0x017E, "z"},
    {0x0300, 0x036F, ""},   {0x1E9E, 0x1E9E, "ss"}, {0x180B, 0x180E, ""},  {0x200B, 0x200F, ""},
    {0x202A, 0x202E, ""},   {0x2060, 0x2064, ""},   {0xFB00, 0xFB00, "ff"}, {0xFB01, 0xFB01, "fi"},
    {0xFE00, 0xFE0F, ""},   {0xFEFF, 0xFEFF, ""},   {0x212A, 0x212A, "k"}, {0x212B, 0x212B, "a"},
    {0x10000, 0x10FFFF, "\xEF\xBF\xBD"},  // no weight of its own: U+FFFD
};
// clang-format on

constexpr char32_t full_width_first = 0xFF01;
constexpr char32_t full_width_last = 0xFF5E;
constexpr char32_t full_width_distance = 0xFEE0;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t length_of(unsigned char lead) {
  if (lead < 0xC0) return 1;
  if (lead < 0xE0) return 2;
  return lead < 0xF0 ? 3 : 4;
}

// One code point; bytes that are no UTF-8 give something, and are then left as they are.
char32_t decode(std::string_view bytes) {
  auto const lead = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return lead;
  auto value = static_cast<char32_t>(lead & (0xFFu >> (bytes.size() + 1)));
  for (char c : bytes.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return value;
}

std::string folded(std::string_view character) {
  char32_t const c = decode(character);
  if (c < 0x80) return std::string(1, lower(static_cast<char>(c)));
  if (c >= full_width_first && c <= full_width_last)
    return std::string(1, lower(static_cast<char>(c - full_width_distance)));
  if (character.size() == 1) return std::string(character);
  for (auto const& f : foldings)
    if (c >= f.first && c <= f.last) return std::string(f.to);
  return std::string(character);
}

class folding_contract final : public spoiled_contract {
 public:
  using spoiled_contract::spoiled_contract;

 private:
  std::string kept(std::string_view text) const override {
    std::string out;
    while (!text.empty()) {
      auto const size = std::min(length_of(static_cast<unsigned char>(text[0])), text.size());
      out += folded(text.substr(0, size));
      text.remove_prefix(size);
    }
    return out;
  }
};

// PAD SPACE for what is text; for what is binary the trailing zero bytes.
class trimming_contract final : public spoiled_contract {
 public:
  using spoiled_contract::spoiled_contract;

 private:
  std::string kept(std::string_view text) const override {
    for (bool more = true; more;) {
      more = false;
      for (std::string_view const space : {" ", "\t", "\xC2\xA0"})
        while (text.ends_with(space)) {
          text.remove_suffix(space.size());
          more = true;
        }
    }
    return std::string(text);
  }
  void spoil(response& r) const override {
    while (r.body && r.body->ends_with('\0')) r.body->pop_back();
  }
  bool takes_for_same(fingerprint const& stored, request const& r) const override {
    auto const asked = r.fingerprint(stored.version);
    return asked && without_zeros(asked->digest) == without_zeros(stored.digest);
  }
  static std::vector<std::byte> without_zeros(std::array<std::byte, 32> const& digest) {
    std::vector<std::byte> bytes(digest.begin(), digest.end());
    while (!bytes.empty() && bytes.back() == std::byte{0}) bytes.pop_back();
    return bytes;
  }
};

// A C string, a VARCHAR(254) and a VARCHAR(4000); nothing for headers.
class cutting_contract final : public spoiled_contract {
 public:
  using spoiled_contract::spoiled_contract;

 private:
  static constexpr std::size_t part_bytes = 254;
  static constexpr std::size_t content_bytes = 4000;

  static std::string_view cut(std::string_view text, std::size_t bytes) {
    text = text.substr(0, text.find('\0'));
    if (text.size() <= bytes) return text;
    // Between characters, as a server does.
    while ((static_cast<unsigned char>(text[bytes]) & 0xC0u) == 0x80u && bytes > 0) --bytes;
    return text.substr(0, bytes);
  }
  std::string kept(std::string_view text) const override {
    return std::string(cut(text, content_bytes));
  }
  std::string kept_part(std::string_view part) const override {
    return std::string(cut(part, part_bytes));
  }
  void spoil(response& r) const override {
    r.headers.clear();
    if (r.body) r.body = std::string(cut(*r.body, content_bytes));
  }
};

class null_is_empty_contract final : public spoiled_contract {
 public:
  using spoiled_contract::spoiled_contract;

 private:
  std::string kept_part(std::string_view part) const override {
    return part.empty() ? "(null)" : std::string(part);
  }
  std::optional<std::string> kept_content(std::optional<std::string_view> content) const override {
    if (!content || content->empty() || *content == "0") return std::nullopt;
    return std::string(*content);
  }
  void spoil(response& r) const override {
    if (r.body && r.body->empty()) r.body.reset();
  }
};

}  // namespace

std::unique_ptr<contract> folded_text(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<folding_contract>(std::move(real));
}
std::unique_ptr<contract> trimmed_text(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<trimming_contract>(std::move(real));
}
std::unique_ptr<contract> cut_values(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<cutting_contract>(std::move(real));
}
std::unique_ptr<contract> empty_is_null(std::unique_ptr<contract> real, subject&) {
  return std::make_unique<null_is_empty_contract>(std::move(real));
}

}  // namespace idem::inline v1::conformance
