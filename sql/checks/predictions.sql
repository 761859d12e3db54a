-- [error_is_stable]
-- A champion whose mean error on the newest jobs is more than twice that on the jobs it was tested on.
SELECT version, value AS error_over_test_error, jobs
FROM predictions.model_drift
WHERE source = $source AND measure = 'error' AND value > 2

-- [features_know_no_future]
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

-- [inputs_are_stable]
-- Inputs of the champion whose newest values are of another population than those it learned from. By custom, a population stability
-- index above 0.25 is another population. Few jobs, and bursts of them, reach that by themselves. So the index must also be
-- twice the largest of past stretches of as many jobs. Where there were too few jobs before, nobody can say.
SELECT input, value AS population_stability_index, usual AS largest_before, jobs
FROM predictions.model_drift
WHERE source = $source AND measure = 'psi' AND usual IS NOT NULL AND value > greatest(0.25, 2 * usual)
ORDER BY value DESC

-- [predictions_finite]
-- Replayable jobs without exactly one finite prediction of at least one second. A source that nothing was learned from has none.
SELECT jobs.job_index, count(predictions.job_index) AS predictions, min(predictions.predicted_runtime_s) AS smallest
FROM core.jobs AS jobs
LEFT JOIN predictions.runtime_predictions AS predictions
    ON jobs.source = predictions.source AND jobs.job_index = predictions.job_index
WHERE
    jobs.source = $source AND jobs.runtime_s > 0 AND jobs.procs > 0
    AND EXISTS (FROM predictions.champions WHERE source = $source)
GROUP BY jobs.job_index
HAVING
    count(predictions.job_index) <> 1
    OR NOT bool_and(isfinite(predictions.predicted_runtime_s))
    OR min(predictions.predicted_runtime_s) < 1
ORDER BY jobs.job_index

-- [wait_quantiles_ascend]
-- Predicted waits whose quantiles are negative, or not in order.
SELECT job_index, wait_p10_s, wait_p25_s, wait_p50_s, wait_p75_s, wait_p90_s
FROM predictions.wait_predictions
WHERE
    source = $source
    AND NOT coalesce(
        0 <= wait_p10_s AND wait_p10_s <= wait_p25_s AND wait_p25_s <= wait_p50_s AND wait_p50_s <= wait_p75_s AND wait_p75_s <= wait_p90_s,
        FALSE
    )
ORDER BY job_index
