-- How far a replay can be trusted: waits of the log beside those of a replay of the configuration that fits the log best. It was fitted
-- on the first half of the log, and these are jobs of the second. A source without a grade has one row, which says why.
CREATE TABLE IF NOT EXISTS replay.fidelity (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    part VARCHAR NOT NULL, -- all jobs, size (class of processors) or month (of the submission, in the cluster's time zone)
    value VARCHAR NOT NULL, -- which size class, as in marts.job_facts, or which month; empty for all jobs
    jobs BIGINT NOT NULL, -- jobs of the part whose wait the log holds
    grade VARCHAR, -- A (gives back what happened) to D (has little to do with it), see docs/reference/semantics.md; NULL where there is none
    no_grade_because VARCHAR, -- why there is no grade; NULL where there is one
    logged_wait_s DOUBLE, -- mean wait in the log, seconds; NULL where nothing was replayed, as all below
    replayed_wait_s DOUBLE, -- mean wait of the replay, seconds
    logged_median_wait_s DOUBLE, -- median wait in the log, seconds
    replayed_median_wait_s DOUBLE, -- median wait of the replay, seconds
    logged_p95_wait_s DOUBLE, -- 95th percentile of the wait in the log, seconds
    replayed_p95_wait_s DOUBLE, -- 95th percentile of the wait of the replay, seconds
    logged_bounded_slowdown DOUBLE, -- mean bounded slowdown in the log
    replayed_bounded_slowdown DOUBLE, -- mean bounded slowdown of the replay
    logged_utilisation DOUBLE, -- share of the cluster in use between the first and the last submission of the part; all jobs only
    replayed_utilisation DOUBLE, -- the same of the replay
    waited BIGINT, -- jobs that waited longer than a minute in the log
    alike DOUBLE, -- share of the jobs whose waits differ by at most a minute, or a tenth of the longer
    rank_correlation DOUBLE, -- Spearman's, of the two waits of each job; NULL where all waits are equal
    distance DOUBLE, -- largest difference between the two distribution functions of waits
    factor DOUBLE, -- by how much a wait is off, up or down, in the geometric mean, a minute added to both
    logged_room_share DOUBLE, -- share of the waited time, in the log, in which enough processors for the waiting job were idle
    replayed_room_share DOUBLE, -- the same of the replay
);
