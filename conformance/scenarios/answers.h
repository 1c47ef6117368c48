// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <idem/conformance/context.h>

// What the scenarios on replay, mismatch, identity, size and emptiness have in common.
namespace idem::inline v1::conformance {

/// In quotes, with every byte outside printable ASCII as \xNN, and cut where it is long.
std::string shown(std::string_view);

/// Status, headers and body in one digest. No body and an empty one differ.
std::string digest_of(response const&);

/// The response of an executed, replayed or refused call; null for any other.
response const* response_of(call const&) noexcept;

/// `run` with an effect that writes one ledger row, named by the response's digest, and answers
/// that response. It is noted by the digest too, so that the invariants compare all of it.
call run_answering(context&, session&, operation const&, response const&, run_options const& = {});

/// The checks return what they found.
bool check_executed(context&, call const&, std::string const& what,
                    std::source_location = std::source_location::current());
/// `later` is a replay of all of `first`'s response.
bool check_replayed(context&, call const& later, call const& first, std::string const& what,
                    std::source_location = std::source_location::current());
bool check_mismatched(context&, call const&, std::string const& what,
                      std::source_location = std::source_location::current());
bool check_failed(context&, call const&, errc, std::string const& what,
                  std::source_location = std::source_location::current());

/// These parts make no request: `invalid_argument`, so that there is nothing to send.
void check_no_identity(context&, identity_parts, std::string const& what,
                       std::source_location = std::source_location::current());

/// Every operation runs its own effect and, asked again on another session, gets its own
/// answer: no two of them are the same.
void check_told_apart(context&, std::vector<operation> const&,
                      std::source_location = std::source_location::current());

/// One content of a request, whatever its identity.
struct content {
  std::string name;
  std::function<result<request>(contract&, identity_parts)> make;
};
content bytes_content(std::string_view);
content no_content();
content fields_content(std::string name, std::vector<field>);
content json_content(std::string text);

/// Each content under a key of its own; there, every other content is a mismatch.
void check_contents_differ(context&, std::string const& key_prefix, std::vector<content> const&,
                           std::source_location = std::source_location::current());

}  // namespace idem::inline v1::conformance
