// SPDX-License-Identifier: BSL-1.0
#include <idem/response.h>

#include <limits>

namespace idem::inline v1 {

namespace {

constexpr std::size_t length_bytes = 4;

void append_sized(std::string& out, std::string_view text) {
  auto const size = static_cast<std::uint32_t>(text.size());
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((size >> shift) & 0xFF);
  out += text;
}

// Takes one length-prefixed text off the front of `rest`.
bool take_sized(std::string_view& rest, std::string& out) {
  if (rest.size() < length_bytes) return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    size = size << 8 | static_cast<unsigned char>(rest[i]);
  rest.remove_prefix(length_bytes);
  if (rest.size() < size) return false;
  out = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

}  // namespace

std::size_t stored_size(response const& r) noexcept {
  std::size_t size = r.body ? r.body->size() : 0;
  for (auto const& [name, text] : r.headers) size += 2 * length_bytes + name.size() + text.size();
  return size;
}

std::string encode_headers(response const& r) {
  std::string out;
  for (auto const& [name, text] : r.headers) {
    append_sized(out, name);
    append_sized(out, text);
  }
  return out;
}

result<std::vector<std::pair<std::string, std::string>>> decode_headers(std::string_view bytes) {
  std::vector<std::pair<std::string, std::string>> headers;
  while (!bytes.empty()) {
    std::pair<std::string, std::string> header;
    if (!take_sized(bytes, header.first) || !take_sized(bytes, header.second)) {
      error e;
      e.what = errc::corrupt;
      e.message = "a record's stored headers cannot be read";
      return std::unexpected(std::move(e));
    }
    headers.push_back(std::move(header));
  }
  return headers;
}

}  // namespace idem::inline v1
