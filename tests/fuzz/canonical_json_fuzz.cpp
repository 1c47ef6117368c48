// SPDX-License-Identifier: BSL-1.0
// libFuzzer entry. By hand, from the project's root:
//   clang++-19 -std=c++23 -g -O1 -fsanitize=fuzzer,address,undefined -I. -Icore/include
//     tests/fuzz/canonical_json_fuzz.cpp core/canonical_json.cpp core/canonical_number.cpp
//     core/json_left_out.cpp core/utf8.cpp core/error.cpp core/attempt.cpp core/identity.cpp
//     -lcrypto -o /tmp/canonical_json_fuzz
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/canonical_json.h"
#include "core/utf8.h"

namespace {

using idem::detail::canonical_json;

void require(bool holds) {
  if (!holds) std::abort();
}

/// What is accepted is UTF-8, and its own canonical form.
void check(std::string_view text, std::vector<std::string> const& left_out) {
  auto const form = canonical_json(text, left_out, {});
  if (!form) return require(form.error().what == idem::errc::invalid_argument);
  require(!form->empty());
  require(idem::detail::is_utf8(*form));
  auto const again = canonical_json(*form, left_out, {});
  require(again.has_value() && *again == *form);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  check(text, {});
  check(text, {"/a", "/0/a", "/b/a", "/b/0/a~1~0", "/c/1/2"});
  // A random text as pointer: refused or harmless, never more.
  (void)canonical_json("{\"a\":[{\"b\":1}]}", std::vector{std::string(text)}, {});
  return 0;
}
