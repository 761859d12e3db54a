-- Logged waits of one source's jobs that started: of all, by queue, by size class and by month of the submission.
WITH started AS (
    SELECT facts.queue, facts.size_class, facts.month, jobs.wait_s
    FROM core.jobs AS jobs
    INNER JOIN marts.job_facts AS facts ON jobs.source = facts.source AND jobs.job_index = facts.job_index
    WHERE jobs.source = $source AND jobs.start_time IS NOT NULL AND jobs.wait_s >= 0
)

SELECT
    CASE
        WHEN grouping(queue) = 0 THEN 'queue'
        WHEN grouping(size_class) = 0 THEN 'size'
        WHEN grouping(month) = 0 THEN 'month'
        ELSE 'all'
    END AS part,
    coalesce(queue, size_class, month::VARCHAR, '') AS value,
    count(*) AS jobs,
    avg(wait_s) AS mean_s,
    median(wait_s) AS median_s,
    quantile_cont(wait_s, 0.95) AS p95_s,
    avg((wait_s <= 3600)::INTEGER) AS within_1_h,
    avg((wait_s <= 86400)::INTEGER) AS within_24_h,
    max(wait_s)::DOUBLE AS longest_s
FROM started
GROUP BY GROUPING SETS ((), (queue), (size_class), (month))
HAVING count(*) > 0
ORDER BY part, jobs DESC, value
