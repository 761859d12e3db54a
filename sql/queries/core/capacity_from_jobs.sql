-- Use of one source by local day, from $from_day (which begins at $from_time in UTC) on to the day of the last end. A job of no length
-- is taken for one second. A job whose start the log does not know is taken to have started when it was submitted; one that was
-- cancelled before it started used nothing. Where nothing was submitted, started or ended for more than a year, there are no days: one
-- wrong time may be thousands of years away.
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

-- quarters of an hour, because time zones differ by whole ones, and converting every time would take long
moments AS (
    SELECT DISTINCT time_bucket(INTERVAL 15 MINUTES, submit_time) AS time FROM core.jobs WHERE source = $source
    UNION
    SELECT DISTINCT time_bucket(INTERVAL 15 MINUTES, unnest([start_time, end_time])) AS time FROM all_that_ran
),

days_told AS (
    SELECT DISTINCT least(timezone($time_zone, timezone('UTC', moments.time))::DATE, last_day.day) AS day FROM moments, last_day
),

numbered AS (
    SELECT day, count(*) FILTER (is_far) OVER (ORDER BY day) AS stretch
    FROM (SELECT day, coalesce(day - lag(day) OVER (ORDER BY day) > 366, FALSE) AS is_far FROM days_told WHERE day IS NOT NULL)
),

stretches AS (
    SELECT min(day) AS first_day, max(day) AS last_day FROM numbered GROUP BY stretch HAVING last_day >= $from_day
),

-- the one after the last day of a stretch ends it
midnights AS (
    SELECT timezone('UTC', timezone($time_zone, day)) AS time, day::DATE > last_day AS is_end
    FROM (
        SELECT
            unnest(generate_series(greatest(first_day, $from_day)::TIMESTAMP, last_day::TIMESTAMP + INTERVAL 1 DAY, INTERVAL 1 DAY)) AS day,
            last_day
        FROM stretches
    )
),

changes AS (
    SELECT greatest(start_time, $from_time) AS time, procs AS procs, gpus AS gpus, 1 AS jobs, FALSE AS is_end FROM ran
    UNION ALL
    SELECT end_time AS time, -procs AS procs, -gpus AS gpus, -1 AS jobs, FALSE AS is_end FROM ran
    UNION ALL
    SELECT time, 0 AS procs, 0 AS gpus, 0 AS jobs, is_end FROM midnights
),

-- a running sum takes all changes of one moment together: a processor freed at a moment can be given away at that moment
in_use AS (
    SELECT
        time,
        is_end,
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
WHERE time >= $from_time AND seconds IS NOT NULL AND NOT is_end
GROUP BY day
