-- Jobs whose history, or whose user's running and waiting jobs, differ from a plain count over what had happened before their
-- submission, or that lack features; on the 2,000 jobs with the smallest hash, since the plain count is quadratic.
WITH
{{ timed_jobs }}

jobs AS (
    SELECT * REPLACE (taken_start_time AS start_time, taken_end_time AS end_time) FROM timed_jobs
),

sample AS (
    SELECT *
    FROM jobs
    WHERE user_name IS NOT NULL
    ORDER BY hash(job_index)
    LIMIT 2000
),

counted AS (
    SELECT
        sample.job_index,
        count(earlier.job_index) FILTER (earlier.end_time < sample.submit_time) AS ended,
        arg_max(earlier.runtime_s, (earlier.end_time, earlier.job_index)) FILTER (earlier.end_time < sample.submit_time)
            AS last_runtime_s,
        count(earlier.job_index) FILTER (
            earlier.end_time < sample.submit_time
            AND coalesce(earlier.requested_procs, earlier.procs) IS NOT DISTINCT FROM coalesce(sample.requested_procs, sample.procs)
            AND earlier.requested_walltime_s IS NOT DISTINCT FROM sample.requested_walltime_s
        ) AS alike_ended,
        count(earlier.job_index) FILTER (
            earlier.start_time < sample.submit_time AND earlier.end_time >= sample.submit_time
        ) AS running,
        count(earlier.job_index) FILTER (coalesce(earlier.start_time, earlier.end_time) >= sample.submit_time) AS waiting
    FROM sample
    LEFT JOIN jobs AS earlier
        ON
            sample.user_name = earlier.user_name
            AND earlier.submit_time < sample.submit_time
    GROUP BY sample.job_index
)

SELECT
    counted.job_index,
    counted.ended,
    features.user_jobs_ended,
    counted.last_runtime_s AS last_ended_runtime_s,
    features.last_runtime_s,
    counted.alike_ended,
    features.alike_jobs_ended,
    counted.running,
    features.user_jobs_running,
    counted.waiting,
    features.user_jobs_waiting
FROM counted
LEFT JOIN features.job_features AS features
    ON counted.job_index = features.job_index AND features.source = $source
WHERE
    features.user_jobs_ended IS DISTINCT FROM counted.ended
    OR features.last_runtime_s IS DISTINCT FROM counted.last_runtime_s
    OR features.alike_jobs_ended IS DISTINCT FROM counted.alike_ended
    OR features.user_jobs_running IS DISTINCT FROM counted.running
    OR features.user_jobs_waiting IS DISTINCT FROM counted.waiting
ORDER BY counted.job_index
