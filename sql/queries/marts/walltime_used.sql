-- Run time over requested time of the jobs of one source that have both: jobs by share in steps of 0.025, the last for 1.175 and more,
-- and the median share of all jobs in each row.
WITH shares AS (
    SELECT runtime_s / requested_walltime_s AS share
    FROM marts.job_facts
    WHERE source = $source AND runtime_s > 0 AND requested_walltime_s > 0
),

steps AS (
    SELECT least(floor(share * 40), 47)::BIGINT AS step, count(*) AS jobs FROM shares GROUP BY step
)

SELECT steps.step / 40 AS share_from, steps.jobs, (SELECT median(share) FROM shares) AS median
FROM steps
ORDER BY steps.step
