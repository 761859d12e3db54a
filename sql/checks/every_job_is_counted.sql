-- Whether the views of operations count other jobs than the log has: all of them, and month by month those with a known wait.
WITH counts AS (
    SELECT
        'all jobs' AS what,
        (SELECT count(*) FROM core.jobs WHERE source = $source) AS jobs,
        (SELECT count(*) FROM marts.job_facts WHERE source = $source) AS counted
    UNION ALL
    SELECT
        'jobs with a known wait' AS what,
        (SELECT count(*) FROM core.jobs WHERE source = $source AND wait_s IS NOT NULL) AS jobs,
        (SELECT coalesce(sum(jobs), 0)::BIGINT FROM marts.waits_by_queue WHERE source = $source) AS counted
)

SELECT what, jobs, counted
FROM counts
WHERE jobs <> counted
