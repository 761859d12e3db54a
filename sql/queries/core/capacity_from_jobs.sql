-- Use of one source by local day, from $from_day (which begins at $from_time in UTC) on to the day of the last end. A job of no length
-- is taken for one second. A job whose start the log does not know is taken to have started when it was submitted; one that was
-- cancelled before it started used nothing.
WITH all_that_ran AS (
    SELECT
        coalesce(start_time, submit_time) AS start_time,
        coalesce(start_time, submit_time) + to_seconds(greatest(runtime_s, 1)) AS end_time,
        procs,
        coalesce(gpus, 0) AS gpus
    FROM core.jobs
    WHERE
        source = $source
        AND procs IS NOT NULL
        AND runtime_s IS NOT NULL
        AND NOT (start_time IS NULL AND status = 'cancelled' AND runtime_s = 0)
),

ran AS (
    SELECT * FROM all_that_ran WHERE end_time >= $from_time
),

last_day AS (
    SELECT timezone($time_zone, timezone('UTC', max(end_time)))::DATE AS day FROM all_that_ran
),

midnights AS (
    SELECT timezone('UTC', timezone($time_zone, day)) AS time
    FROM (
        SELECT unnest(generate_series($from_day::TIMESTAMP, last_day.day::TIMESTAMP + INTERVAL 1 DAY, INTERVAL 1 DAY)) AS day
        FROM last_day
    )
),

changes AS (
    SELECT greatest(start_time, $from_time) AS time, procs AS procs, gpus AS gpus, 1 AS jobs FROM ran
    UNION ALL
    SELECT end_time AS time, -procs AS procs, -gpus AS gpus, -1 AS jobs FROM ran
    UNION ALL
    SELECT time, 0 AS procs, 0 AS gpus, 0 AS jobs FROM midnights
),

-- a running sum takes all changes of one moment together: a processor freed at a moment can be given away at that moment
in_use AS (
    SELECT
        time,
        sum(procs) OVER (ORDER BY time) AS procs,
        sum(gpus) OVER (ORDER BY time) AS gpus,
        sum(jobs) OVER (ORDER BY time) AS jobs,
        epoch(lead(time) OVER (ORDER BY time) - time) AS seconds
    FROM changes
)

SELECT
    $source AS source,
    timezone($time_zone, timezone('UTC', time))::DATE AS day,
    max(procs)::BIGINT AS peak_procs,
    sum(procs * seconds) / sum(seconds) AS mean_procs,
    max(gpus)::BIGINT AS peak_gpus,
    max(jobs)::BIGINT AS peak_jobs
FROM in_use
WHERE time >= $from_time AND seconds IS NOT NULL
GROUP BY day
