-- Use of the real system by local day: what was in use at most and on average. The observed capacity over time.
CREATE TABLE IF NOT EXISTS core.capacity (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    day DATE NOT NULL, -- in the cluster's time zone
    peak_procs BIGINT NOT NULL, -- most processors in use at one time
    mean_procs DOUBLE NOT NULL, -- processors in use, mean over the day
    peak_gpus BIGINT NOT NULL, -- most GPUs in use at one time, of jobs that tell
    peak_jobs BIGINT NOT NULL, -- most jobs running at one time
);
