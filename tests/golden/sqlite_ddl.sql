-- 0001_record.sql
-- SPDX-License-Identifier: BSL-1.0
-- idem, SQLite, version 1. Safe to run again. A line that holds only ';' ends a statement.

-- One row for each identity (scope, operation, idem_key).
--   STRICT         a column takes its own type only. Without it text '1' would be the same key
--                  as the integer 1 and another than the bytes x'31'.
--   WITHOUT ROWID  the primary key is the table: one tree to write, and no NULL in a key.
--   BLOB keys      compared byte by byte, whatever collation is in force.
-- There is no index on expires_at_us: no statement uses it before the purge comes, and every
-- save would have to write it.
CREATE TABLE IF NOT EXISTS main.idem_record (
  scope               BLOB    NOT NULL CHECK (length(scope) BETWEEN 1 AND 128),
  operation           BLOB    NOT NULL CHECK (length(operation) BETWEEN 1 AND 128),
  idem_key            BLOB    NOT NULL CHECK (length(idem_key) BETWEEN 1 AND 255),
  attempt             BLOB    NOT NULL CHECK (length(attempt) = 16),
  fingerprint_version INTEGER NOT NULL CHECK (fingerprint_version BETWEEN 1 AND 65535),
  fingerprint         BLOB    NOT NULL CHECK (length(fingerprint) = 32),
  canonical_request   BLOB,
  state               INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
  response_status     INTEGER NOT NULL,
  response_headers    BLOB    NOT NULL,
  response_body       BLOB,
  has_body            INTEGER NOT NULL CHECK (has_body = (response_body IS NOT NULL)),
  created_at_us       INTEGER NOT NULL,
  completed_at_us     INTEGER CHECK ((completed_at_us IS NULL) = (state = 0)),
  expires_at_us       INTEGER CHECK ((expires_at_us IS NULL) = (state = 0)),
  PRIMARY KEY (scope, operation, idem_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS main.idem_schema_version (
  version         INTEGER NOT NULL PRIMARY KEY,
  installed_at_us INTEGER NOT NULL
) STRICT;
-- For people. The name of the table has no schema here: a view reads its own file's table, and
-- with a schema's name in it the file could not be attached under another name.
CREATE VIEW IF NOT EXISTS main.idem_record_text AS
SELECT
  CAST(scope AS TEXT) AS scope,
  CAST(operation AS TEXT) AS operation,
  CAST(idem_key AS TEXT) AS idem_key,
  lower(hex(attempt)) AS attempt,
  fingerprint_version,
  lower(hex(fingerprint)) AS fingerprint,
  CASE state WHEN 0 THEN 'claimed' WHEN 1 THEN 'completed' ELSE 'refused' END AS state,
  response_status,
  length(response_headers) AS response_headers_bytes,
  CASE has_body WHEN 1 THEN length(response_body) END AS response_body_bytes,
  strftime('%Y-%m-%dT%H:%M:%S', created_at_us / 1000000, 'unixepoch')
    || printf('.%06dZ', created_at_us % 1000000) AS created_at,
  strftime('%Y-%m-%dT%H:%M:%S', completed_at_us / 1000000, 'unixepoch')
    || printf('.%06dZ', completed_at_us % 1000000) AS completed_at,
  strftime('%Y-%m-%dT%H:%M:%S', expires_at_us / 1000000, 'unixepoch')
    || printf('.%06dZ', expires_at_us % 1000000) AS expires_at
FROM idem_record;
