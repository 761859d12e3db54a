-- Jobs of one source that can be replayed (docs/semantics.md), in replay order, times in the log's own clock. With $cancelled
-- also those that were cancelled before they started: they would run for what they request, and leave the queue at cancel_s.
-- The last columns are what a learned policy can read of a job besides (docs/policies.md), 1 where the log does not know.
WITH numbered AS (
    SELECT
        jobs.*,
        dense_rank() OVER (ORDER BY jobs.user_name NULLS LAST) - 1 AS user_number,
        dense_rank() OVER (ORDER BY jobs.group_name NULLS LAST) - 1 AS group_number,
        dense_rank() OVER (ORDER BY jobs.executable NULLS LAST) - 1 AS executable_number,
        epoch(jobs.submit_time - sources.clock_zero)::BIGINT AS submit_s,
        epoch(jobs.start_time - sources.clock_zero)::BIGINT AS start_s,
        coalesce(jobs.runtime_s, 0) <= 0 AND jobs.status = 'cancelled' AND jobs.wait_s >= 0 AND jobs.requested_walltime_s > 0
            AS was_cancelled
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    WHERE jobs.source = $source
)

SELECT
    numbered.job_index,
    numbered.job_id,
    numbered.submit_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE numbered.runtime_s END AS runtime_s,
    numbered.procs,
    coalesce(numbered.requested_procs, numbered.procs) AS requested_procs,
    coalesce(numbered.requested_walltime_s, -1) AS requested_walltime_s,
    CASE WHEN NOT numbered.was_cancelled THEN numbered.start_s END AS start_s,
    numbered.user_number,
    numbered.user_name,
    numbered.executable,
    CASE WHEN numbered.was_cancelled THEN numbered.submit_s + numbered.wait_s END AS cancel_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.predicted_runtime_s END
        AS predicted_runtime_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p05_s END AS runtime_p05_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p10_s END AS runtime_p10_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p25_s END AS runtime_p25_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p50_s END AS runtime_p50_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p75_s END AS runtime_p75_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p80_s END AS runtime_p80_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p90_s END AS runtime_p90_s,
    CASE WHEN numbered.was_cancelled THEN numbered.requested_walltime_s ELSE predictions.runtime_p95_s END AS runtime_p95_s,
    greatest(max(numbered.runtime_s) OVER (), 1) AS longest_runtime_s,
    coalesce(numbered.requested_memory_kb / nullif(max(numbered.requested_memory_kb) OVER (), 0), 1) AS memory_share,
    CASE WHEN numbered.user_name IS NULL THEN 1 ELSE numbered.user_number / greatest(max(numbered.user_number) OVER (), 1) END
        AS user_place,
    CASE WHEN numbered.group_name IS NULL THEN 1 ELSE numbered.group_number / greatest(max(numbered.group_number) OVER (), 1) END
        AS group_place,
    CASE
        WHEN numbered.executable IS NULL THEN 1
        ELSE numbered.executable_number / greatest(max(numbered.executable_number) OVER (), 1)
    END AS executable_place
FROM numbered
LEFT JOIN predictions.runtime_predictions AS predictions
    ON numbered.source = predictions.source AND numbered.job_index = predictions.job_index
WHERE numbered.procs > 0 AND (numbered.runtime_s > 0 OR ($cancelled AND numbered.was_cancelled))
ORDER BY numbered.job_index
