// SPDX-License-Identifier: BSL-1.0
// Texts made to cost more than they weigh. Memory is measured, time is not.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <string>
#include <string_view>

#include "core/canonical_json.h"

namespace {

using idem::json_limits;
using idem::detail::canonical_json;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// What a refusal may take, with slack for the process and a sanitizer: less than a copy of any
// of the texts.
constexpr std::size_t constant_memory = 8 * mebibyte;

// ThreadSanitizer keeps shadow of its own, resident, for the bytes that a program touches: up to
// three for one with its block headers (compiler-rt, tsan_platform.h).
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IDEM_TEST_HAS_SHADOW
#endif
#elif defined(__SANITIZE_THREAD__)
#define IDEM_TEST_HAS_SHADOW
#endif
#ifdef IDEM_TEST_HAS_SHADOW
constexpr std::size_t resident_for_a_byte = 4;
#else
constexpr std::size_t resident_for_a_byte = 1;
#endif

/// A figure of /proc/self/status, in bytes.
std::size_t status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  BOOST_FAIL("no such figure in /proc/self/status");
  return 0;
}

/// How far `work` raises the peak of the resident memory above what is resident now.
template <class Work>
std::size_t peak_growth(Work const& work) {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;  // peak := resident now
  auto const before = status_bytes("VmHWM");
  BOOST_REQUIRE(before < status_bytes("VmRSS") + 4 * mebibyte);  // it was reset
  work();
  return status_bytes("VmHWM") - before;
}

void check_refused(std::string_view text, std::string_view bound, json_limits const& limits = {}) {
  std::string message = "accepted";
  auto const growth = peak_growth([&] {
    auto const form = canonical_json(text, {}, limits);
    if (!form) message = form.error().message;
  });
  BOOST_TEST(message.contains(bound), message);
  BOOST_TEST(growth < constant_memory);
}

/// `count` windows, end to end, on one mebibyte of memory: a text that needs none.
class repeated_text {
 public:
  repeated_text(char filler, std::size_t count) : size_(count * mebibyte) {
    int const file = ::memfd_create("repeated_text", 0);
    BOOST_REQUIRE(file >= 0);
    std::string const block(mebibyte, filler);
    BOOST_REQUIRE(::write(file, block.data(), block.size()) == static_cast<ssize_t>(mebibyte));
    base_ = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    BOOST_REQUIRE(base_ != MAP_FAILED);
    for (std::size_t i = 0; i < count; ++i) {
      void* const at = static_cast<char*>(base_) + i * mebibyte;
      BOOST_REQUIRE(::mmap(at, mebibyte, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == at);
    }
    ::close(file);
  }

  repeated_text(repeated_text const&) = delete;
  repeated_text& operator=(repeated_text const&) = delete;
  ~repeated_text() { ::munmap(base_, size_); }

  std::string_view view() const { return {static_cast<char const*>(base_), size_}; }

 private:
  std::size_t size_;
  void* base_ = nullptr;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(json_bomb)

BOOST_AUTO_TEST_CASE(depth) {
  constexpr std::size_t depth = 1'000'000;
  check_refused(std::string(depth, '[') + std::string(depth, ']'), "max_depth");
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  check_refused(objects, "max_depth");
}

BOOST_AUTO_TEST_CASE(depth_without_a_bound_does_not_recurse) {
  constexpr std::size_t depth = 1'000'000;
  auto const text = std::string(depth, '[') + std::string(depth, ']');
  auto const form = canonical_json(text, {}, {.max_depth = depth});
  BOOST_REQUIRE(form);
  BOOST_TEST((*form == text));
}

BOOST_AUTO_TEST_CASE(exponents) {
  for (auto const* const text : {"1e999999999", "1e-999999999", "0e999999999", "-0e-999999999",
                                 "1E+99999999999999999999999999", "[0.1e-18446744073709551615]"}) {
    check_refused(text, "max_exponent");
  }
  check_refused("1e" + std::string(15 * mebibyte, '9'), "max_exponent");
  check_refused("0." + std::string(15 * mebibyte, '0') + "1", "max_exponent");
}

BOOST_AUTO_TEST_CASE(digits) {
  check_refused(std::string(15 * mebibyte, '1'), "max_number_digits");
  check_refused("[-1." + std::string(15 * mebibyte, '0') + "]", "max_number_digits");
  check_refused("0." + std::string(15 * mebibyte, '0'), "max_number_digits");
}

BOOST_AUTO_TEST_CASE(a_gigabyte) {
  repeated_text const digits('1', 1024);
  check_refused(digits.view(), "max_bytes");
  check_refused(digits.view(), "max_bytes", {.max_bytes = 2048 * mebibyte});  // past the ceiling
  repeated_text const spaces(' ', 1024);
  check_refused(spaces.view(), "max_bytes");
}

BOOST_AUTO_TEST_CASE(strings) {
  check_refused('"' + std::string(17 * mebibyte, 'a') + '"', "max_bytes");
}

// What is within the bounds takes memory in proportion to the text.
BOOST_AUTO_TEST_CASE(memory_is_in_proportion_to_the_text) {
  constexpr std::size_t size = 15 * mebibyte;
  std::string members = "{";
  for (std::size_t i = 0; members.size() < size; ++i) {
    members += '"' + std::to_string(i) + "\":0,";
  }
  members += "\"\":0}";
  std::string elements = "[";
  while (elements.size() < size) elements += "1e20,";
  elements += "0]";
  std::string escapes = "\"";
  while (escapes.size() < size) escapes += "\\u0001";
  escapes += '"';
  std::string cut = '"' + std::string(size, 'a');
  for (auto const* const text : {&members, &elements, &escapes, &cut}) {
    bool accepted = false;
    auto const growth = peak_growth([&] { accepted = canonical_json(*text, {}, {}).has_value(); });
    BOOST_TEST(accepted == (text != &cut));
    BOOST_TEST_MESSAGE("growth: " << growth / mebibyte << " MiB");
    BOOST_TEST(growth < 12 * resident_for_a_byte * text->size());
  }
}

BOOST_AUTO_TEST_SUITE_END()
