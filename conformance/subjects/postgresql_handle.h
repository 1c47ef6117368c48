// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>

#include <idem/conformance/subject.h>

struct pg_conn;

// Provocations that go past the port, to libpq's handle.
namespace idem::inline v1::conformance::detail {

/// Where the connection's server listens; nothing for a socket of the file system.
std::optional<wire_place> listens_at(pg_conn*);

/// Sends a query and leaves its rows where they are.
bool send_without_reading(pg_conn*);

}  // namespace idem::inline v1::conformance::detail
