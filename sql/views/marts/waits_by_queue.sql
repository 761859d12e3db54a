-- Waits on the real system by month and queue.
CREATE OR REPLACE VIEW marts.waits_by_queue AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    count(*) AS jobs, -- jobs with a known wait
    avg(wait_s) AS average_wait_s, -- mean wait from submission, seconds
    median(wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
    max(wait_s) AS max_wait_s, -- longest wait, seconds
    avg(eligible_wait_s) AS average_eligible_wait_s, -- mean wait in which nothing but resources held jobs back, seconds
FROM marts.job_facts
WHERE wait_s IS NOT NULL
GROUP BY ALL
