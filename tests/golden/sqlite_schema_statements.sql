-- version_table_exists
SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'idem_schema_version' COLLATE NOCASE;

-- version
SELECT coalesce(max(version), 0) FROM main.idem_schema_version;

-- record_version
INSERT INTO main.idem_schema_version (version, installed_at_us) VALUES (?1, ?2) ON CONFLICT (version) DO NOTHING;

-- columns_found
SELECT 'idem_' || lower(substr(t.name, length('idem_') + 1)), lower(c.name), upper(c.type), c."notnull" = 0, c.pk FROM pragma_table_list AS t, pragma_table_xinfo(t.name, t.schema) AS c WHERE t.schema = 'main' COLLATE NOCASE AND t.type = 'table' AND t.name COLLATE NOCASE IN ('idem_record', 'idem_schema_version') ORDER BY t.name, c.cid;

-- breaches
WITH ours AS (SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main' COLLATE NOCASE AND name COLLATE NOCASE IN ('idem_record', 'idem_schema_version')) SELECT name || ' is a ' || type || ', not a table' FROM ours WHERE type <> 'table' UNION ALL SELECT name || ' is not STRICT' FROM ours WHERE type = 'table' AND strict = 0 UNION ALL SELECT name || ' is not WITHOUT ROWID' FROM ours WHERE type = 'table' AND wr = 0 AND name = 'idem_record' COLLATE NOCASE UNION ALL SELECT tbl_name || ' has the trigger ' || name FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name COLLATE NOCASE IN ('idem_record', 'idem_schema_version') UNION ALL SELECT tbl_name || ' has the temporary trigger ' || name FROM temp.sqlite_schema WHERE type = 'trigger' AND tbl_name COLLATE NOCASE IN ('idem_record', 'idem_schema_version') UNION ALL SELECT ours.name || ' has the unique index ' || i.name FROM ours, pragma_index_list(ours.name, 'main') AS i WHERE i."unique" = 1 AND i.origin <> 'pk';

-- schema_exists
SELECT 1 FROM pragma_database_list WHERE name = 'main' COLLATE NOCASE;

