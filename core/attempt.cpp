// SPDX-License-Identifier: BSL-1.0
#include <idem/attempt.h>

#include <openssl/rand.h>

#include <charconv>
#include <stdexcept>

namespace idem::inline v1 {

attempt_id attempt_id::random(bool travels_whole) {
  attempt_id id;
  auto* bytes = reinterpret_cast<unsigned char*>(id.bytes.data());
  if (RAND_bytes(bytes, static_cast<int>(id.bytes.size())) != 1)
    throw std::runtime_error("idem: the system's random source failed");
  id.bytes.back() = (id.bytes.back() & ~std::byte{1}) | std::byte{travels_whole};
  return id;
}

std::optional<attempt_id> attempt_id::parse(std::string_view hexadecimal) {
  attempt_id id;
  if (hexadecimal.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    char const* first = hexadecimal.data() + 2 * i;
    unsigned byte = 0;
    auto [end, failure] = std::from_chars(first, first + 2, byte, 16);
    if (failure != std::errc{} || end != first + 2) return std::nullopt;
    id.bytes[i] = static_cast<std::byte>(byte);
  }
  return id;
}

std::string attempt_id::to_string() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::byte b : bytes) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace idem::inline v1
