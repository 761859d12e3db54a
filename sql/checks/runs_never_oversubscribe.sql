-- Saved replays that use more processors than their cluster has at any time, or start a job before its submission. A job that lasts longer
-- than it runs was suspended meanwhile, nobody has stored when, and its processors do not count.
WITH schedules AS (
    SELECT
        run_jobs.run,
        run_jobs.start_time,
        run_jobs.end_time,
        run_jobs.wait_s,
        if(epoch(run_jobs.end_time - run_jobs.start_time) > jobs.runtime_s, 0, run_jobs.procs) AS procs
    FROM replay.run_jobs AS run_jobs
    LEFT JOIN core.jobs AS jobs ON run_jobs.source = jobs.source AND run_jobs.job_index = jobs.job_index
    WHERE run_jobs.source = $source AND run_jobs.start_time IS NOT NULL
),

changes AS (
    SELECT run, start_time AS time, procs AS change FROM schedules
    UNION ALL
    SELECT run, end_time AS time, -procs AS change FROM schedules
),

-- all changes of one moment count together: a processor freed at a moment can be given away at that moment
net AS (
    SELECT run, time, sum(change) AS change
    FROM changes
    GROUP BY ALL
),

in_use AS (
    SELECT run, sum(change) OVER (PARTITION BY run ORDER BY time) AS procs
    FROM net
),

peaks AS (
    SELECT run, max(procs)::BIGINT AS peak_procs
    FROM in_use
    GROUP BY run
),

waits AS (
    SELECT run, min(wait_s) AS shortest_wait_s
    FROM schedules
    GROUP BY run
)

SELECT peaks.run, peaks.peak_procs, runs.procs AS cluster_procs, waits.shortest_wait_s
FROM peaks
INNER JOIN waits ON peaks.run = waits.run
INNER JOIN replay.runs AS runs ON runs.source = $source AND peaks.run = runs.run
WHERE peaks.peak_procs > runs.procs OR waits.shortest_wait_s < 0
ORDER BY peaks.run
