// SPDX-License-Identifier: BSL-1.0
// The in-memory engine's statements are a closed list of texts; statements.cpp obeys them.
#include <idem/memory.h>

#include "dialects/memory/errors.h"

namespace idem::inline v1::memory {

namespace {

constexpr statements texts{
    .claim = "CLAIM {schema}.{prefix}record",
    .find = "FIND {schema}.{prefix}record",
    // A reader sees what is committed when its statement starts: the winner's row too.
    .read_winner = "FIND {schema}.{prefix}record",
    .save = "SAVE {schema}.{prefix}record",
    .discard = "DISCARD {schema}.{prefix}record",
    .savepoint = "SAVEPOINT idem_claim_d41f8a",
    .rollback_to_savepoint = "ROLLBACK TO idem_claim_d41f8a",
    .release_savepoint = "RELEASE idem_claim_d41f8a",
};

constexpr traits facts{
    .conflict = claim_conflict::no_row,
    .witness = transaction_witness::savepoint,
    .pipelines = false,
    .save_fails_in_server = false,
    .look_before_claim = false,
    .binds_clock = true,
    // A claim locks its own key and nothing else, and waits for whoever has it.
    .claim_wait_names_identity = true,
    .claim_proves_absence = true,
};

constexpr migration migrations[] = {
    {1, "0001_records", "CREATE {schema}.{prefix}record\n"},
};

constexpr expected_column columns[] = {
    {"record", "scope", "bytes", false, 1},
    {"record", "operation", "bytes", false, 2},
    {"record", "key", "bytes", false, 3},
    {"record", "attempt", "bytes", false, 0},
    {"record", "fingerprint_version", "integer", false, 0},
    {"record", "fingerprint", "bytes", false, 0},
    {"record", "canonical_request", "bytes", true, 0},
    {"record", "state", "integer", false, 0},
    {"record", "status", "integer", false, 0},
    {"record", "headers", "bytes", true, 0},
    {"record", "body", "bytes", true, 0},
    {"record", "has_body", "integer", false, 0},
    {"record", "created_at_us", "integer", false, 0},
    {"record", "completed_at_us", "integer", true, 0},
    {"record", "expires_at_us", "integer", true, 0},
};

constexpr schema_statements schema_texts{
    .migrations = migrations,
    .columns = columns,
    .default_schema = "main",
    .private_schema = "",
    .max_identifier_bytes = 64,
    .version_table_exists = "EXISTS {schema}.{prefix}record",
    .version = "VERSION {schema}.{prefix}record",
    .record_version = "RECORD VERSION {schema}.{prefix}record",
    .columns_found = "COLUMNS {schema}.{prefix}record",
    .breaches = "BREACHES {schema}.{prefix}record",
};

constexpr dialect value{"memory", texts, facts, &detail::classify, schema_texts};

}  // namespace

dialect const& dialect_value() noexcept { return value; }

}  // namespace idem::inline v1::memory
