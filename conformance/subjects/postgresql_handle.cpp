// SPDX-License-Identifier: BSL-1.0
#include "conformance/subjects/postgresql_handle.h"

#include <libpq-fe.h>

namespace idem::inline v1::conformance::detail {

bool send_without_reading(pg_conn* conn) {
  return PQsendQuery(conn, "SELECT generate_series(1, 3)") == 1;
}

}  // namespace idem::inline v1::conformance::detail
