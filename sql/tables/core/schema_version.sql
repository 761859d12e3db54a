-- Which version of the tables this warehouse has; one row.
CREATE TABLE IF NOT EXISTS core.schema_version (
    version BIGINT NOT NULL, -- number of the last file of sql/migrations that was applied; 1 for the first release
    fingerprint VARCHAR NOT NULL, -- hash over all statements that create a table or a view
);
