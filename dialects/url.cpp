// SPDX-License-Identifier: BSL-1.0
#include <idem/url.h>

#include <algorithm>
#include <array>
#include <optional>

namespace idem::inline v1 {

namespace {

constexpr std::size_t max_url_bytes = 8192;

std::unexpected<error> refuse(std::string message) {
  error e;
  e.what = errc::configuration;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

// Not the C library's functions: those depend on the process's locale.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool is_name(std::string_view text) {
  auto const allowed = [](char c) { return is_letter(c) || is_digit(c); };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, allowed);
}

std::optional<int> hexadecimal(char c) {
  if (is_digit(c)) return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return std::nullopt;
}

result<> read_scheme(std::string_view scheme, target_url& out) {
  auto const plus = scheme.find('+');
  auto const engine = scheme.substr(0, plus);
  if (!is_name(engine))
    return refuse(
        "the URL's engine (the part before ':') must be letters and digits, "
        "beginning with a letter");
  out.engine = lower_case(engine);
  if (plus == std::string_view::npos) return {};
  auto const driver = scheme.substr(plus + 1);
  if (!is_name(driver))
    return refuse(
        "the URL's driver (between '+' and ':') must be letters and digits, "
        "beginning with a letter");
  out.driver = lower_case(driver);
  return {};
}

result<> read_option(std::string_view text, target_url& out) {
  auto const equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return refuse("every option behind the URL's '?' must be name=value, joined by '&'");
  auto name = percent_decode(text.substr(0, equals));
  if (!name) return std::unexpected(std::move(name).error());
  auto value = percent_decode(text.substr(equals + 1));
  if (!value) return std::unexpected(std::move(value).error());
  auto const same = [&name](auto const& option) { return option.first == *name; };
  if (std::ranges::any_of(out.options, same))
    return refuse("the URL gives one of its options twice: leave one of them out");
  out.options.emplace_back(std::move(*name), std::move(*value));
  return {};
}

bool is_secret(std::string_view option) {
  constexpr std::array<std::string_view, 4> words{"password", "pwd", "secret", "token"};
  auto const name = lower_case(option);
  return std::ranges::any_of(words, [&name](auto word) { return name.contains(word); });
}

}  // namespace

result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    auto const high = i + 2 < text.size() ? hexadecimal(text[i + 1]) : std::nullopt;
    auto const low = high ? hexadecimal(text[i + 2]) : std::nullopt;
    if (!low)
      return refuse(
          "a '%' in the URL must be followed by two hexadecimal digits: write %25 for "
          "the character itself");
    out.push_back(static_cast<char>(*high * 16 + *low));
    i += 2;
  }
  return out;
}

result<target_url> parse_target_url(std::string_view url) {
  if (url.size() > max_url_bytes) return refuse("the URL is longer than 8192 bytes");
  auto const colon = url.find(':');
  if (colon == std::string_view::npos)
    return refuse(
        "this is not a database's URL: write engine:rest or "
        "engine+driver:rest, options behind '?'");
  target_url out;
  if (auto read = read_scheme(url.substr(0, colon), out); !read)
    return std::unexpected(std::move(read).error());
  auto rest = url.substr(colon + 1);
  auto const question = rest.find('?');
  out.rest = rest.substr(0, question);
  if (question == std::string_view::npos) return out;
  rest.remove_prefix(question + 1);
  while (!rest.empty()) {
    auto const ampersand = rest.find('&');
    if (auto read = read_option(rest.substr(0, ampersand), out); !read)
      return std::unexpected(std::move(read).error());
    rest = ampersand == std::string_view::npos ? "" : rest.substr(ampersand + 1);
  }
  return out;
}

std::string without_password(target_url const& url) {
  std::string out = url.engine;
  if (!url.driver.empty()) out.append("+").append(url.driver);
  out.append(":");
  std::string rest = url.rest;
  if (rest.starts_with("//")) {
    auto const at = rest.rfind('@', rest.find('/', 2));
    auto const colon = rest.find(':', 2);
    if (at != std::string::npos && colon < at) rest.replace(colon + 1, at - colon - 1, "***");
  }
  out.append(rest);
  char separator = '?';
  for (auto const& [name, value] : url.options) {
    out.append(1, separator).append(name).append("=");
    out.append(is_secret(name) ? "***" : value);
    separator = '&';
  }
  return out;
}

}  // namespace idem::inline v1
