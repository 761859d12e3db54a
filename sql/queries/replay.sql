-- [exported_run]
-- The jobs of a saved run with the times that they have in it, for `tracehouse export --run`. Those of the log come after them. Where a
-- run changed the load, a job is submitted when the run submitted it.
SELECT
    jobs.* REPLACE (
        coalesce(replayed.start_time - to_seconds(replayed.wait_s), jobs.submit_time) AS submit_time,
        replayed.start_time AS start_time,
        replayed.end_time AS end_time,
        replayed.wait_s AS wait_s,
        epoch(replayed.end_time)::BIGINT - epoch(replayed.start_time)::BIGINT AS runtime_s,
        replayed.procs AS procs
    ),
    replayed.run,
    replayed.backfilled,
    jobs.submit_time AS logged_submit_time,
    jobs.start_time AS logged_start_time,
    jobs.end_time AS logged_end_time,
    jobs.wait_s AS logged_wait_s
FROM replay.run_jobs AS replayed
INNER JOIN core.jobs AS jobs ON replayed.source = jobs.source AND replayed.job_index = jobs.job_index
WHERE replayed.source = $source AND replayed.run = $run
ORDER BY jobs.job_index

-- [grade]
-- The grade of one source. No row before it was graded, NULL where it has none.
SELECT grade FROM replay.fidelity WHERE source = $source AND part = 'all'

-- [paired_jobs]
-- The jobs of two saved runs of one source side by side, those that started in both; the runs must have the same trace_sha256.
-- Jobs are paired by their place in the replay, so that a log that was read again in between does no harm.
WITH placed AS (
    SELECT run, job_index, row_number() OVER (PARTITION BY run ORDER BY job_index) AS place, start_time, end_time, wait_s, procs
    FROM replay.run_jobs
    WHERE source = $source AND run IN ($run_a, $run_b)
)

SELECT
    a.place,
    epoch(a.start_time)::BIGINT - a.wait_s AS submit_s,
    epoch(a.end_time - a.start_time)::BIGINT AS runtime_s,
    a.procs,
    a.wait_s AS wait_a_s,
    b.wait_s AS wait_b_s,
    jobs.queue,
    jobs.user_name,
    jobs.account
FROM placed AS a
INNER JOIN placed AS b ON a.place = b.place
LEFT JOIN core.jobs AS jobs ON jobs.source = $source AND a.job_index = jobs.job_index
WHERE a.run = $run_a AND b.run = $run_b AND a.start_time IS NOT NULL AND b.start_time IS NOT NULL
ORDER BY a.place

-- [paired_placements]
-- The jobs of two saved placements of one source side by side, those that started in both, in submit order; the placements must have
-- the same trace_sha256. Jobs are paired by their place in the replay, so that a log that was read again in between does no harm.
WITH placed AS (
    SELECT placement, row_number() OVER (PARTITION BY placement ORDER BY job_index) AS place, start_time, wait_s, hop_cost
    FROM replay.placed_jobs
    WHERE source = $source AND placement IN ($placement_a, $placement_b)
)

SELECT
    a.wait_s AS wait_a_s,
    b.wait_s AS wait_b_s,
    a.hop_cost AS hop_cost_a,
    b.hop_cost AS hop_cost_b
FROM placed AS a
INNER JOIN placed AS b ON a.place = b.place
WHERE a.placement = $placement_a AND b.placement = $placement_b AND a.start_time IS NOT NULL AND b.start_time IS NOT NULL
ORDER BY a.place

-- [usage_over_time]
-- Processors in use and jobs waiting, hour by hour, in the period replays of one source with requested times.
WITH schedules AS (
    SELECT replayed.policy, jobs.submit_time, replayed.start_time, replayed.end_time, replayed.procs
    FROM replay.schedules AS replayed
    INNER JOIN core.jobs AS jobs ON replayed.source = jobs.source AND replayed.job_index = jobs.job_index
    WHERE replayed.source = $source AND replayed.estimates = 'requested'
),

changes AS (
    SELECT policy, start_time AS time, procs AS used, -1 AS waiting FROM schedules
    UNION ALL
    SELECT policy, end_time AS time, -procs AS used, 0 AS waiting FROM schedules
    UNION ALL
    SELECT policy, submit_time AS time, 0 AS used, 1 AS waiting FROM schedules
),

hourly AS (
    SELECT policy, date_trunc('hour', time) AS hour, sum(used) AS used, sum(waiting) AS waiting
    FROM changes
    GROUP BY ALL
)

SELECT
    policy,
    hour,
    (sum(used) OVER by_hour)::BIGINT AS procs_in_use,
    (sum(waiting) OVER by_hour)::BIGINT AS jobs_waiting
FROM hourly
WINDOW by_hour AS (PARTITION BY policy ORDER BY hour)
ORDER BY policy, hour
