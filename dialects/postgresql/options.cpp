// SPDX-License-Identifier: BSL-1.0
// What is ours in a postgresql: URL; the rest of it is libpq's.
#include "dialects/postgresql/options.h"

#include <utility>

namespace idem::inline v1::postgresql {

namespace {

result<> read_prepared(std::string_view text, bool& out) {
  if (text != "on" && text != "off")
    return detail::refuse_options("the option prepared of a postgresql: URL takes on, off");
  out = text == "on";
  return {};
}

}  // namespace

namespace detail {

std::unexpected<error> refuse_options(std::string message) {
  error e;
  e.what = errc::configuration;
  e.phase = phase::connect;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

}  // namespace detail

// Only our own option is taken out; libpq decodes and checks all others.
result<options> parse_url(std::string_view url) {
  if (!url.starts_with("postgresql://") && !url.starts_with("postgres://"))
    return detail::refuse_options(
        "this is not a postgresql: URL: write postgresql://user@host:port/database");
  if (url.contains('\0')) return detail::refuse_options("the URL holds NUL");
  options out;
  auto const question = url.find('?');
  out.conninfo = url.substr(0, question);
  if (question == std::string_view::npos) return out;
  auto rest = url.substr(question + 1);
  char separator = '?';
  while (!rest.empty()) {
    auto const ampersand = rest.find('&');
    auto const option = rest.substr(0, ampersand);
    if (option.starts_with("prepared=")) {
      if (auto read = read_prepared(option.substr(9), out.prepared); !read)
        return std::unexpected(std::move(read).error());
    } else {
      out.conninfo.append(1, separator).append(option);
      separator = '&';
    }
    rest = ampersand == std::string_view::npos ? "" : rest.substr(ampersand + 1);
  }
  return out;
}

}  // namespace idem::inline v1::postgresql
