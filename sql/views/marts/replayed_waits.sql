-- Waits in the replays of the period after the training part, by policy, size and run time.
CREATE OR REPLACE VIEW marts.replayed_waits AS
SELECT
    schedules.source AS source, -- name of the source in the catalogue
    schedules.policy AS policy, -- policy replayed
    schedules.backfill AS backfill, -- backfilling rule
    schedules.estimates AS estimates, -- requested or predicted
    classes.size_class AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    classes.runtime_class AS runtime_class, -- by run time
    count(*) AS jobs, -- jobs replayed
    avg(schedules.wait_s) AS average_wait_s, -- mean wait, seconds
    median(schedules.wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(schedules.wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
FROM replay.schedules AS schedules
INNER JOIN marts.job_facts AS classes ON schedules.source = classes.source AND schedules.job_index = classes.job_index
GROUP BY ALL
