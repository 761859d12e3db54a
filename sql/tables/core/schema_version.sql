-- Which definition of the tables this warehouse was made with; one row.
CREATE TABLE IF NOT EXISTS core.schema_version (
    fingerprint VARCHAR NOT NULL, -- hash over all statements that create a table or a view
);
