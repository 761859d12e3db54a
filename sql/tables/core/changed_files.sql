-- Files whose rows are newer than core.jobs: what core.jobs still has to take in. Empty when all is up to date.
CREATE TABLE IF NOT EXISTS core.changed_files (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file, empty for all
    from_s BIGINT NOT NULL, -- jobs submitted from this second of the log's clock on may have changed
);
