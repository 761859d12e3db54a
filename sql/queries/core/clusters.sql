-- [cluster_from_jobs]
-- What the jobs of one source tell of its cluster; one row.
WITH of_jobs AS (
    SELECT
        min(epoch(submit_time))::BIGINT AS first_submit_s,
        max(greatest(procs, requested_procs)) AS widest_procs,
        -- jobs on several nodes mostly fill them; the largest of equally frequent numbers
        max(procs) FILTER (nodes = 1 AND runtime_s > 0) AS most_procs_on_one_node,
        max(requested_memory_kb // nodes) FILTER (nodes > 0 AND runtime_s > 0) AS node_memory_kb
    FROM core.jobs
    WHERE source = $source
),

per_node AS (
    SELECT procs // nodes AS procs_per_node
    FROM core.jobs
    WHERE source = $source AND nodes > 1 AND procs % nodes = 0 AND runtime_s > 0
    GROUP BY ALL
    ORDER BY count(*) DESC, procs_per_node DESC
    LIMIT 1
),

-- the nodes that the log names, and the processors that one job had at most on the middle one of them
named AS (
    SELECT count(*) AS nodes, quantile_disc(most_procs, 0.5) AS procs_per_node
    FROM (SELECT node_name, max(procs) AS most_procs FROM core.job_nodes WHERE source = $source GROUP BY node_name)
),

in_use AS (
    SELECT max(peak_procs) AS peak_procs, max(peak_gpus) AS peak_gpus FROM core.capacity WHERE source = $source
)

SELECT
    of_jobs.first_submit_s,
    greatest(in_use.peak_procs, of_jobs.widest_procs) AS procs,
    coalesce((SELECT procs_per_node FROM per_node), of_jobs.most_procs_on_one_node) AS procs_per_node,
    nullif(named.nodes, 0) AS named_nodes,
    named.procs_per_node AS procs_per_named_node,
    nullif(in_use.peak_gpus, 0) AS gpus,
    of_jobs.node_memory_kb,
    in_use.peak_procs
FROM of_jobs, in_use, named

-- [capacity_from_jobs]
-- Use of one source by local day, from $from_day (which begins at $from_time in UTC) on to the day of the last end. A job whose start the
-- log does not know is taken to have started when it was submitted; one of no length used nothing then. Within one second jobs end
-- first, then each job of no length runs for itself, then jobs start. A suspended job holds nothing. Where nothing was submitted,
-- started or ended for more than a year, there are no days: one wrong time may be thousands of years away.
WITH
{{ held_stretches }}

ran AS (
    SELECT * FROM stretches WHERE end_time > $from_time OR start_time >= $from_time
),

last_day AS (
    SELECT timezone($time_zone, timezone('UTC', max(end_time)))::DATE AS day FROM stretches
),

-- quarters of an hour, because time zones differ by whole ones, and converting every time would take long
moments AS (
    SELECT DISTINCT time_bucket(INTERVAL 15 MINUTES, submit_time) AS time FROM core.jobs WHERE source = $source
    UNION
    SELECT DISTINCT time_bucket(INTERVAL 15 MINUTES, unnest([start_time, end_time])) AS time FROM stretches
),

days_told AS (
    SELECT DISTINCT least(timezone($time_zone, timezone('UTC', moments.time))::DATE, last_day.day) AS day
    FROM moments, last_day
    WHERE last_day.day IS NOT NULL
),

numbered AS (
    SELECT day, count(*) FILTER (is_far) OVER (ORDER BY day) AS stretch
    FROM (SELECT day, coalesce(day - lag(day) OVER (ORDER BY day) > 366, FALSE) AS is_far FROM days_told WHERE day IS NOT NULL)
),

day_stretches AS (
    SELECT min(day) AS first_day, max(day) AS last_day FROM numbered GROUP BY stretch HAVING last_day >= $from_day
),

-- the one after the last day of a stretch ends it
midnights AS (
    SELECT timezone('UTC', timezone($time_zone, day)) AS time, day::DATE > last_day AS is_end
    FROM (
        SELECT
            unnest(generate_series(greatest(first_day, $from_day)::TIMESTAMP, last_day::TIMESTAMP + INTERVAL 1 DAY, INTERVAL 1 DAY)) AS day,
            last_day
        FROM day_stretches
    )
),

-- momentary_ is in use at that moment alone, beside what runs on from before
changes AS (
    SELECT
        time, step, procs, gpus, jobs, is_end,
        0 AS momentary_procs, 0 AS momentary_gpus, 0 AS momentary_jobs
    FROM (
        SELECT end_time AS time, 0 AS step, -procs AS procs, -gpus AS gpus, -1 AS jobs, FALSE AS is_end FROM ran WHERE NOT is_momentary
        UNION ALL
        SELECT greatest(start_time, $from_time - INTERVAL 1 SECOND) AS time, 2 AS step, procs, gpus, 1 AS jobs, FALSE AS is_end
        FROM ran
        WHERE NOT is_momentary
        UNION ALL
        SELECT time, 2 AS step, 0 AS procs, 0 AS gpus, 0 AS jobs, is_end FROM midnights
    )
    UNION ALL
    SELECT start_time AS time, 1 AS step, 0 AS procs, 0 AS gpus, 0 AS jobs, FALSE AS is_end, procs, gpus, 1 FROM ran WHERE is_momentary
),

in_use AS (
    SELECT
        time,
        is_end,
        sum(procs) OVER by_moment AS procs,
        momentary_procs + sum(procs) OVER by_moment AS most_procs,
        momentary_gpus + sum(gpus) OVER by_moment AS most_gpus,
        momentary_jobs + sum(jobs) OVER by_moment AS most_jobs,
        epoch(lead(time) OVER by_moment - time) AS seconds
    FROM changes
    WINDOW by_moment AS (ORDER BY time, step)
)

SELECT
    $source AS source,
    timezone($time_zone, timezone('UTC', time))::DATE AS day,
    max(most_procs)::BIGINT AS peak_procs,
    sum(procs * seconds) / sum(seconds) AS mean_procs,
    max(most_gpus)::BIGINT AS peak_gpus,
    max(most_jobs)::BIGINT AS peak_jobs
FROM in_use
WHERE time >= $from_time AND seconds IS NOT NULL AND NOT is_end
GROUP BY day

-- [daily_load]
-- Jobs submitted and processor hours asked for per local day of one source, as a share of what the cluster has.
SELECT
    date_trunc('day', timezone(sources.time_zone, timezone('UTC', jobs.submit_time)))::DATE AS day,
    count(*) AS jobs,
    coalesce(sum(jobs.runtime_s * jobs.procs), 0)::DOUBLE / (sources.cluster_procs * 86400) AS offered_load
FROM core.jobs AS jobs
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE jobs.source = $source
GROUP BY day, sources.cluster_procs
ORDER BY day

-- [source_facts]
-- What a replay needs to know of one source besides its jobs, and how its times are said.
SELECT
    cluster_procs,
    cluster_procs_from,
    origin_s,
    clock_zero,
    time_zone,
{{ has_dates }}
FROM core.sources WHERE source = $source
