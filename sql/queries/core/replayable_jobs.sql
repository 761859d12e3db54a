-- Jobs of one source that can be replayed (docs/reference/semantics.md), in replay order, times in the log's own clock: those with an index
-- from $from_index and before $to_index. With $cancelled also those that were cancelled before they started: they would run for what
-- they request, and leave the queue at cancel_s. The last columns are what a learned policy can read of a job besides
-- (docs/guides/policies.md), 1 where the log does not know. The tables replay_names and replay_extremes hold the queries of these names.
WITH
{{ numbered_jobs }}

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
    extremes.longest_runtime_s,
    coalesce(numbered.requested_memory_kb / extremes.most_memory_kb, 1) AS memory_share,
    CASE WHEN numbered.user_name IS NULL THEN 1 ELSE numbered.user_number / extremes.last_user END AS user_place,
    CASE WHEN numbered.group_name IS NULL THEN 1 ELSE numbered.group_number / extremes.last_group END AS group_place,
    CASE WHEN numbered.executable IS NULL THEN 1 ELSE numbered.executable_number / extremes.last_executable END
        AS executable_place
FROM replayable AS numbered
CROSS JOIN replay_extremes AS extremes
LEFT JOIN predictions.runtime_predictions AS predictions
    ON numbered.source = predictions.source AND numbered.job_index = predictions.job_index
ORDER BY numbered.job_index
