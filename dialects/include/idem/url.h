// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <idem/error.h>

namespace idem::inline v1 {

/// A target's URL, `engine[+driver]:rest?option=value&option=value`, taken apart. What the
/// parts mean is the engine's business.
struct target_url {
  std::string engine;  ///< lower case
  std::string driver;  ///< lower case; empty if none is named
  /// Between ':' and '?', as written: an engine decodes its own parts after cutting them.
  std::string rest;
  /// In the order given, decoded, each name once.
  std::vector<std::pair<std::string, std::string>> options;

  friend bool operator==(target_url const&, target_url const&) = default;
};

/// Takes a URL apart. Nothing is opened.
/// Errors: `configuration`, `not_executed`, with the rule that was broken. Neither the URL nor
/// a value of it is repeated, since a password may stand there.
[[nodiscard]] result<target_url> parse_target_url(std::string_view url);

/// `%41` becomes `A`; every other byte stays, '+' too. What comes out may hold NUL.
/// Errors: `configuration` for a '%' without two hexadecimal digits.
[[nodiscard]] result<std::string> percent_decode(std::string_view text);

/// The URL as it may be shown: the password between "//user:" and "@", and the value of every
/// option whose name holds "password", "pwd", "secret" or "token", replaced by "***".
std::string without_password(target_url const&);

}  // namespace idem::inline v1
