-- SPDX-License-Identifier: BSL-1.0
-- idem, PostgreSQL, version 1. Safe to run again. A line that holds only ';' ends a statement.

-- One row for each identity (scope, operation, idem_key).
--   bytea keys   compared byte by byte, whatever collation and encoding are in force.
--   fillfactor   the save updates the row that the claim has just written: with room on the page
--                it touches no index (HOT).
-- There is no index on expires_at_us: no statement uses it before the purge comes, and with one
-- no save could be HOT.
CREATE TABLE IF NOT EXISTS {schema}.{prefix}record (
  scope               bytea    NOT NULL CHECK (octet_length(scope) BETWEEN 1 AND 128),
  operation           bytea    NOT NULL CHECK (octet_length(operation) BETWEEN 1 AND 128),
  idem_key            bytea    NOT NULL CHECK (octet_length(idem_key) BETWEEN 1 AND 255),
  attempt             bytea    NOT NULL CHECK (octet_length(attempt) = 16),
  fingerprint_version integer  NOT NULL CHECK (fingerprint_version BETWEEN 1 AND 65535),
  fingerprint         bytea    NOT NULL CHECK (octet_length(fingerprint) = 32),
  canonical_request   bytea,
  state               smallint NOT NULL CHECK (state IN (0, 1, 2)),
  response_status     integer  NOT NULL,
  response_headers    bytea    NOT NULL,
  response_body       bytea,
  has_body            smallint NOT NULL CHECK (has_body = CASE WHEN response_body IS NULL THEN 0 ELSE 1 END),
  created_at_us       bigint   NOT NULL,
  completed_at_us     bigint   CHECK ((completed_at_us IS NULL) = (state = 0)),
  expires_at_us       bigint   CHECK ((expires_at_us IS NULL) = (state = 0)),
  PRIMARY KEY (scope, operation, idem_key)
) WITH (fillfactor = 70)
;
CREATE TABLE IF NOT EXISTS {schema}.{prefix}schema_version (
  version         bigint NOT NULL PRIMARY KEY,
  installed_at_us bigint NOT NULL
)
;
-- For people. In a database of another encoding than UTF8 a key with characters that it does not
-- have cannot be shown as text: the bytes of the table are the truth.
CREATE OR REPLACE VIEW {schema}.{prefix}record_text AS
SELECT
  convert_from(scope, 'UTF8') AS scope,
  convert_from(operation, 'UTF8') AS operation,
  convert_from(idem_key, 'UTF8') AS idem_key,
  encode(attempt, 'hex') AS attempt,
  fingerprint_version,
  encode(fingerprint, 'hex') AS fingerprint,
  CASE state WHEN 0 THEN 'claimed' WHEN 1 THEN 'completed' ELSE 'refused' END AS state,
  response_status,
  octet_length(response_headers) AS response_headers_bytes,
  octet_length(response_body) AS response_body_bytes,
  timestamptz 'epoch' + created_at_us * interval '1 microsecond' AS created_at,
  timestamptz 'epoch' + completed_at_us * interval '1 microsecond' AS completed_at,
  timestamptz 'epoch' + expires_at_us * interval '1 microsecond' AS expires_at
FROM {schema}.{prefix}record
;
