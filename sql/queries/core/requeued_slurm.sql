-- Lines of one Slurm source that tell of jobs which Slurm requeued under their id, with job_submit_s, the first submission of the job.
-- sacct --duplicates prints each attempt, and Slurm gives a requeued job a new Submit: no earlier than the start of the attempt
-- before, mostly its end. An id that another user has, or that comes again more than a day later, is of another job.
WITH ids AS (
    SELECT DISTINCT coalesce(cluster, '') AS cluster_name, job_id
    FROM raw.slurm_jobs
    WHERE source = $source AND state IN ('REQUEUED', 'NODE_FAIL', 'PREEMPTED', 'BOOT_FAIL')
),

lines AS (
    SELECT jobs.*, ids.cluster_name
    FROM raw.slurm_jobs AS jobs
    INNER JOIN ids ON jobs.job_id = ids.job_id AND coalesce(jobs.cluster, '') = ids.cluster_name
    WHERE jobs.source = $source
),

submissions AS (
    SELECT
        cluster_name,
        job_id,
        submit_s,
        first(user_name ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS user_name,
        first(state ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS state,
        first(start_s ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS start_s,
        max(end_s) AS end_s
    FROM lines
    GROUP BY ALL
),

linked AS (
    SELECT
        *,
        coalesce(
            lag(state) OVER ids IN ('REQUEUED', 'NODE_FAIL', 'PREEMPTED', 'BOOT_FAIL')
            AND lag(user_name) OVER ids IS NOT DISTINCT FROM user_name
            AND submit_s BETWEEN lag(start_s) OVER ids AND lag(end_s) OVER ids + 86400,
            false
        ) AS goes_on
    FROM submissions
    WINDOW ids AS (PARTITION BY cluster_name, job_id ORDER BY submit_s)
),

numbered AS (
    SELECT *, count(*) FILTER (NOT goes_on) OVER (PARTITION BY cluster_name, job_id ORDER BY submit_s) AS number FROM linked
),

jobs AS (
    SELECT *, min(submit_s) OVER job AS job_submit_s, count(*) OVER job AS submissions
    FROM numbered
    WINDOW job AS (PARTITION BY cluster_name, job_id, number)
)

SELECT lines.*, jobs.job_submit_s
FROM lines
INNER JOIN jobs
    ON lines.cluster_name = jobs.cluster_name AND lines.job_id = jobs.job_id AND lines.submit_s = jobs.submit_s
WHERE jobs.submissions > 1 OR jobs.state = 'REQUEUED'
