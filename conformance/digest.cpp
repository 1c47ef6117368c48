// SPDX-License-Identifier: BSL-1.0
#include "conformance/digest.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace idem::inline v1::conformance {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available from libcrypto");
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string tag_of(identity const& id) {
  std::string all;
  for (auto const* part : {&id.scope(), &id.operation(), &id.key()})
    all.append(std::to_string(part->size())).append(":").append(*part);
  return sha256_hex(all);
}

}  // namespace idem::inline v1::conformance
