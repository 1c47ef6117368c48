// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

#include <idem/schema.h>
#include <idem/session.h>

// Moving idem's records to another database of the same server, with no program but the server.
namespace idem::inline v1::conformance::detail {

/// Whether the session's role may make databases, with a collation of ICU's as their default
/// (PostgreSQL 15 or newer).
result<bool> can_create_database(session&);
/// Makes it anew. Texts compare as Turkish there, by ICU.
result<> create_database(session&, std::string const& name);
result<> drop_database(session&, std::string const& name);
/// Every record, as it is, into the same tables elsewhere.
result<> copy_records(session& from, session& to, table_names const&);
/// Provider and name.
result<std::string> default_collation_of(session&);

/// The same URL by another port of 127.0.0.1.
std::string with_port(std::string const& conninfo, std::uint16_t port);
/// The same URL with another database.
std::string with_database(std::string const& conninfo, std::string const& name);

}  // namespace idem::inline v1::conformance::detail
