-- claim
INSERT INTO main.idem_record (scope, operation, idem_key, attempt, fingerprint_version, fingerprint, canonical_request, state, response_status, response_headers, has_body, created_at_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, x'', 0, ?8) ON CONFLICT (scope, operation, idem_key) DO NOTHING;

-- find
SELECT attempt, fingerprint_version, fingerprint, canonical_request, state, response_status, response_headers, response_body, has_body, created_at_us, completed_at_us, expires_at_us FROM main.idem_record WHERE scope = ?1 AND operation = ?2 AND idem_key = ?3;

-- read_winner
SELECT attempt, fingerprint_version, fingerprint, canonical_request, state, response_status, response_headers, response_body, has_body, created_at_us, completed_at_us, expires_at_us FROM main.idem_record WHERE scope = ?1 AND operation = ?2 AND idem_key = ?3;

-- save
UPDATE main.idem_record SET state = ?1, response_status = ?2, response_headers = ?3, response_body = ?4, has_body = ?5, completed_at_us = ?11, expires_at_us = ?11 + ?6 WHERE scope = ?7 AND operation = ?8 AND idem_key = ?9 AND attempt = ?10 AND state = 0;

-- discard
DELETE FROM main.idem_record WHERE scope = ?1 AND operation = ?2 AND idem_key = ?3 AND attempt = ?4 AND state = 0;

-- savepoint
SAVEPOINT idem_claim_d41f8a;

-- rollback_to_savepoint
ROLLBACK TO idem_claim_d41f8a;

-- release_savepoint
RELEASE idem_claim_d41f8a;

