-- From which jobs the rows of the feature tables were computed, part by part in the order of submission. Where a log grows, rows that no
-- new job can have changed stay as they are.
CREATE TABLE IF NOT EXISTS features.written_parts (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    features VARCHAR NOT NULL, -- the table: job_features or similar_jobs
    part BIGINT NOT NULL, -- job_index by the number of jobs in a part, rounded down; from 0
    inputs VARCHAR NOT NULL, -- hash of the part's jobs and of the code that computes features
    earliest TIMESTAMP NOT NULL, -- earliest submission, start or end of the part's jobs, UTC
    row_count BIGINT NOT NULL, -- rows that the part has in the table
);
