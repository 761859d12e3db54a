-- Waits in the replays of the period after the training part, by policy, size and run time.
CREATE OR REPLACE VIEW marts.replayed_waits AS
SELECT
    schedules.source AS source, -- name of the source in the catalogue
    schedules.policy AS policy, -- policy replayed
    schedules.backfill AS backfill, -- none or easy
    schedules.estimates AS estimates, -- requested or predicted
    CASE
        WHEN jobs.procs = 1 THEN 'serial'
        WHEN jobs.procs <= sources.cluster_procs / 16 THEN 'small'
        WHEN jobs.procs <= sources.cluster_procs / 4 THEN 'medium'
        ELSE 'large'
    END AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    CASE
        WHEN jobs.runtime_s < 600 THEN 'under 10 min'
        WHEN jobs.runtime_s < 3600 THEN '10 min to 1 h'
        WHEN jobs.runtime_s < 28800 THEN '1 h to 8 h'
        ELSE '8 h and more'
    END AS runtime_class, -- by run time
    count(*) AS jobs, -- jobs replayed
    avg(schedules.wait_s) AS average_wait_s, -- mean wait, seconds
    median(schedules.wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(schedules.wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
FROM replay.schedules AS schedules
INNER JOIN core.jobs AS jobs ON schedules.source = jobs.source AND schedules.job_index = jobs.job_index
INNER JOIN core.sources AS sources ON jobs.source = sources.source
GROUP BY ALL
