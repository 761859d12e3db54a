-- Where a source's jobs are cut: policies learn and choose before it, and are compared after it.
CREATE TABLE IF NOT EXISTS predictions.training_splits (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    test_job_index BIGINT NOT NULL, -- first job after the cut
    train_share DOUBLE NOT NULL, -- share of the jobs before it
);
