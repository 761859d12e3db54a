-- What changes in the queue and on the cluster of one source, in steps of $step_s seconds from $zero_s on (epoch, UTC), by the log.
-- The columns named mean_ are what the changes within a step add to its mean; the others hold from the next step on.
WITH
{{ held_stretches }}

started AS (
    SELECT
        epoch(submit_time) AS submit_s,
        epoch(start_time) AS start_s,
        coalesce(procs * runtime_s, 0) / 3600 AS core_hours,
        job_index
    FROM core.jobs
    WHERE source = $source AND start_time IS NOT NULL AND start_time >= submit_time
),

held AS (
    SELECT epoch(start_time) AS start_s, epoch(end_time) AS end_s, procs FROM stretches SEMI JOIN started USING (job_index)
),

changes AS (
    SELECT submit_s AS at_s, 1 AS waiting, core_hours AS work, 0 AS used FROM started
    UNION ALL
    SELECT start_s AS at_s, -1 AS waiting, -core_hours AS work, 0 AS used FROM started
    UNION ALL
    SELECT start_s AS at_s, 0 AS waiting, 0 AS work, procs AS used FROM held
    UNION ALL
    SELECT end_s AS at_s, 0 AS waiting, 0 AS work, -procs AS used FROM held
),

placed AS (
    SELECT *, floor((at_s - $zero_s) / $step_s) AS step, 1 - ((at_s - $zero_s) / $step_s - step) AS rest FROM changes
)

SELECT
    step::BIGINT AS step,
    sum(waiting)::DOUBLE AS waiting,
    sum(work) AS work,
    sum(used)::DOUBLE AS used,
    sum(waiting * rest) AS mean_waiting,
    sum(work * rest) AS mean_work,
    sum(used * rest) AS mean_used
FROM placed
GROUP BY step
ORDER BY step
