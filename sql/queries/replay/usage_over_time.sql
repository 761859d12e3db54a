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
