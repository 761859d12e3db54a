-- What the run times of similar jobs say of each job: jobs most like it that had ended in an earlier second than its
-- submission (docs/reference/semantics.md). One row per job that has run and can be replayed.
CREATE TABLE IF NOT EXISTS features.similar_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    similar_mean_s DOUBLE NOT NULL, -- mean run time of similar jobs, seconds, each at most the job's request
    similar_inverse_per_s DOUBLE NOT NULL, -- mean of 1 / max(run time, 10 s), per second: what a second of waiting costs in slowdown
    similar_jobs DOUBLE NOT NULL, -- run times of the user's own jobs among those that were looked at, up to 60
    similar_p05_s DOUBLE NOT NULL, -- 5 % quantile of the run times of similar jobs, seconds
    similar_p10_s DOUBLE NOT NULL, -- 10 % quantile of the same
    similar_p25_s DOUBLE NOT NULL, -- 25 % quantile of the same
    similar_p50_s DOUBLE NOT NULL, -- median of the same
    similar_p75_s DOUBLE NOT NULL, -- 75 % quantile of the same
    similar_p80_s DOUBLE NOT NULL, -- 80 % quantile of the same
    similar_p90_s DOUBLE NOT NULL, -- 90 % quantile of the same
    similar_p95_s DOUBLE NOT NULL, -- 95 % quantile of the same
);
