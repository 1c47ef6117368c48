// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <idem/error.h>

namespace idem::inline v1 {

/// What an operation answers: stored with the effect and replayed byte for byte.
///
/// Headers keep their order, repetitions and bytes. No body and an empty body are told apart.
struct response {
  std::int32_t status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;

  friend bool operator==(response const&, response const&) = default;
};

/// A final business "no" (insufficient funds), chosen by the effect. What is done with it is
/// said by `run_options::refusals`.
struct refusal {
  idem::response response;

  friend bool operator==(refusal const&, refusal const&) = default;
};

/// Bytes of headers and body that count against `max_response_bytes`.
std::size_t stored_size(response const&) noexcept;

/// The one layout of stored headers: for each, name and value, each after its length as four
/// bytes, most significant first.
std::string encode_headers(response const&);

/// Errors: `corrupt` if the bytes are not what `encode_headers` writes.
[[nodiscard]] result<std::vector<std::pair<std::string, std::string>>> decode_headers(
    std::string_view);

}  // namespace idem::inline v1
