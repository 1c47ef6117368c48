// SPDX-License-Identifier: BSL-1.0
#pragma once

struct pg_conn;

// Provocations that go past the port, to libpq's handle.
namespace idem::inline v1::conformance::detail {

/// Sends a query and leaves its rows where they are.
bool send_without_reading(pg_conn*);

}  // namespace idem::inline v1::conformance::detail
