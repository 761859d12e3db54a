-- Waits on the real system by month and by weekday and hour of the submission, in the cluster's time zone.
CREATE OR REPLACE VIEW marts.waits_by_hour AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    weekday AS weekday, -- 1 Monday to 7 Sunday
    hour_of_day AS hour_of_day, -- 0 to 23
    count(*) AS jobs, -- jobs with a known wait
    avg(wait_s) AS average_wait_s, -- mean wait from submission, seconds
    median(wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
FROM marts.job_facts
WHERE wait_s IS NOT NULL
GROUP BY ALL
