-- Waits, and what was lost or not used, of one source: of all jobs, by queue, by account and by user. Of jobs that were submitted from
-- $begin on and before $end, UTC. NULL is no bound.
WITH chosen AS (
    SELECT facts.*
    FROM marts.job_facts AS facts
    WHERE
        facts.source = $source
        -- jobs are numbered in the order of their submission
        AND ($begin::TIMESTAMP IS NULL OR facts.job_index >= (
            SELECT min(job_index) FROM core.jobs WHERE source = $source AND submit_time >= $begin
        ))
        AND ($end::TIMESTAMP IS NULL OR facts.job_index <= (
            SELECT max(job_index) FROM core.jobs WHERE source = $source AND submit_time < $end
        ))
)

SELECT
    CASE
        WHEN grouping(queue) = 0 THEN 'queue'
        WHEN grouping(account) = 0 THEN 'account'
        WHEN grouping(user_name) = 0 THEN 'user'
        ELSE 'all'
    END AS kind,
    coalesce(queue, account, user_name, '') AS value,
    count(wait_s) AS known_waits,
    avg(wait_s) / 3600 AS mean_wait_h,
    median(wait_s) / 3600 AS median_wait_h,
    quantile_cont(wait_s, 0.95) / 3600 AS p95_wait_h,
    max(wait_s) / 3600 AS max_wait_h,
    coalesce(sum(wait_s), 0) / 3600 AS waited_h,
{{ wasted_sums }}
FROM chosen
GROUP BY GROUPING SETS ((), (queue), (account), (user_name))
HAVING count(*) > 0
ORDER BY kind, core_hours DESC, value
