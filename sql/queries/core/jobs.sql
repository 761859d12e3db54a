-- [replayable_jobs]
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
    numbered.account,
    numbered.executable,
    numbered.dependency,
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

-- [replay_extremes]
-- What core.replayable_jobs compares each job with: the largest values among the jobs of one source that can be replayed. It is one
-- row, and needs the table replay_names. The bounds of the index let all jobs in.
WITH
{{ numbered_jobs }}

SELECT
    count(*) AS jobs,
    coalesce(max(job_index), -1) AS last_index,
    greatest(max(runtime_s), 1) AS longest_runtime_s,
    nullif(max(requested_memory_kb), 0) AS most_memory_kb,
    greatest(max(user_number), 1) AS last_user,
    greatest(max(group_number), 1) AS last_group,
    greatest(max(executable_number), 1) AS last_executable
FROM replayable

-- [replay_names]
-- The users, groups and executables of one source with their numbers, from 0 in the order of the names; unknown is the last.
WITH names AS (
    SELECT DISTINCT unnest(['user', 'group', 'executable']) AS kind, unnest([user_name, group_name, executable]) AS name
    FROM core.jobs
    WHERE source = $source
)

SELECT kind, name, row_number() OVER (PARTITION BY kind ORDER BY name NULLS LAST) - 1 AS number
FROM names

-- [cancelled_waits]
-- Jobs of one source that were cancelled while they waited, or left the queue without a start in another way. Needs the table replay_names.
-- The bounds of the index let all jobs in.
WITH
{{ numbered_jobs }}

SELECT
    user_number,
    procs,
    wait_s
FROM numbered
WHERE was_cancelled AND procs > 0
ORDER BY job_index

-- [log_faults]
-- What a log of one source gets wrong, as `tracehouse replay` counts it (docs/reference/semantics.md); one row.
WITH records AS (
    SELECT
        job_id,
        submit_time,
{{ left_before_start }}
        lag(submit_time) OVER (ORDER BY file, line) AS time_above
    FROM core.jobs AS jobs
    WHERE source = $source
)

SELECT
    count(*) AS records,
    count(*) FILTER (submit_time < time_above) AS jobs_out_of_order,
    count(*) - count(DISTINCT job_id) AS repeated_job_ids,
    count(*) FILTER (left_before_start) AS jobs_left_before_start,
    (
        SELECT coalesce(sum(lines), 0)::BIGINT
        FROM raw.line_counts
        WHERE source = $source AND outcome = 'rejected' AND starts_with(reason, 'wider than the cluster')
    ) AS jobs_wider_than_cluster
FROM records

-- [suspensions_of_jobs]
-- When jobs of one source were suspended, in seconds of the log's own clock.
SELECT
    jobs.job_index,
    epoch(suspensions.from_time - sources.clock_zero)::BIGINT AS from_s,
    epoch(suspensions.to_time - sources.clock_zero)::BIGINT AS to_s
FROM core.suspensions AS suspensions
INNER JOIN core.jobs AS jobs
    ON
        suspensions.source = jobs.source
        AND suspensions.job_id = jobs.job_id
        AND suspensions.submit_time = jobs.submit_time
        AND suspensions.start_time = jobs.start_time
INNER JOIN core.sources AS sources ON suspensions.source = sources.source
WHERE suspensions.source = $source
ORDER BY jobs.job_index, from_s

-- [exported_jobs]
-- All jobs of a source, for `tracehouse export` as Parquet.
SELECT * FROM core.jobs WHERE source = $source ORDER BY job_index

-- [vasp_jobs_of_source]
-- The accounting jobs of one source's VASP launches, by the batch system's number where an output file has it, else by time and cores.
-- $source is the folder of runs, $accounting the source of the jobs. An id that was used again belongs to the job that was running then.
WITH launches AS (
    SELECT folder, outcar, launch, started_at, job_id, cores FROM raw.vasp_runs WHERE source = $source
),

jobs AS (
    SELECT job_index, split_part(job_id, '.', 1) AS number, start_time, end_time, procs
    FROM core.jobs WHERE source = $accounting AND start_time IS NOT NULL
),

by_id AS (
    SELECT launches.folder, launches.outcar, launches.launch, jobs.job_index
    FROM launches INNER JOIN jobs
        ON launches.job_id = jobs.number
        AND (
            launches.started_at IS NULL
            OR launches.started_at BETWEEN jobs.start_time - INTERVAL 5 SECOND AND coalesce(jobs.end_time, launches.started_at)
        )
    QUALIFY row_number() OVER (
        PARTITION BY launches.folder, launches.outcar, launches.launch
        ORDER BY abs(epoch(jobs.start_time) - epoch(launches.started_at)) NULLS LAST, jobs.job_index
    ) = 1
),

by_time AS (
    SELECT launches.folder, launches.outcar, launches.launch, jobs.job_index
    FROM launches INNER JOIN jobs
        ON launches.started_at BETWEEN jobs.start_time - INTERVAL 5 SECOND AND jobs.start_time + INTERVAL 300 SECOND
        AND (jobs.end_time IS NULL OR launches.started_at <= jobs.end_time)
        AND launches.cores = jobs.procs
    ANTI JOIN by_id
        ON launches.folder = by_id.folder AND launches.outcar = by_id.outcar AND launches.launch = by_id.launch
    QUALIFY count(*) OVER (PARTITION BY launches.folder, launches.outcar, launches.launch) = 1
)

SELECT $source AS source, $accounting AS accounting, folder, outcar, launch, job_index, 'job_id' AS matched_by FROM by_id
UNION ALL
SELECT $source AS source, $accounting AS accounting, folder, outcar, launch, job_index, 'time' AS matched_by FROM by_time

-- [export_swf]
-- The jobs of one PBS or Slurm source as fields of the Standard Workload Format, in the order of submission; seconds count from
-- $clock_zero. A job that left the queue without a start has the status of a cancelled one, whatever ended it. Users, groups, executables and queues are numbers by first appearance: SWF has no names.
WITH used AS (
    SELECT file, line, used_cpu_s FROM raw.pbs_records WHERE source = $source AND record_type = 'E'
    UNION ALL
    SELECT file, line, CASE WHEN used_cpu_s > 0 OR start_s IS NULL THEN used_cpu_s END AS used_cpu_s
    FROM raw.slurm_jobs WHERE source = $source
),

first_seen AS (
    SELECT
        *,
        min(job_index) OVER (PARTITION BY user_name) AS first_of_user,
        min(job_index) OVER (PARTITION BY group_name) AS first_of_group,
        min(job_index) OVER (PARTITION BY executable) AS first_of_executable,
        min(job_index) OVER (PARTITION BY queue) AS first_of_queue
    FROM core.jobs
    WHERE source = $source
)

SELECT
    jobs.job_index + 1 AS job_number,
    epoch(jobs.submit_time)::BIGINT - epoch($clock_zero::TIMESTAMP)::BIGINT AS submit_s,
    jobs.wait_s,
    jobs.runtime_s,
    jobs.procs AS allocated_procs,
    round(used.used_cpu_s / jobs.procs, 2) AS average_cpu_s,
    jobs.requested_procs,
    jobs.requested_walltime_s,
    CASE
        WHEN jobs.status = 'cancelled' OR (jobs.start_time IS NULL AND jobs.wait_s IS NOT NULL) THEN 5
        WHEN jobs.status = 'completed' THEN 1
        WHEN jobs.status <> 'unknown' THEN 0
    END AS status,
    CASE WHEN jobs.user_name IS NOT NULL THEN dense_rank() OVER (ORDER BY jobs.user_name IS NULL, jobs.first_of_user) END AS user_id,
    CASE WHEN jobs.group_name IS NOT NULL THEN dense_rank() OVER (ORDER BY jobs.group_name IS NULL, jobs.first_of_group) END
        AS group_id,
    CASE WHEN jobs.executable IS NOT NULL THEN dense_rank() OVER (ORDER BY jobs.executable IS NULL, jobs.first_of_executable) END
        AS executable,
    CASE WHEN jobs.queue IS NOT NULL THEN dense_rank() OVER (ORDER BY jobs.queue IS NULL, jobs.first_of_queue) END AS queue,
    jobs.queue AS queue_name
FROM first_seen AS jobs
LEFT JOIN used ON jobs.file = used.file AND jobs.line = used.line
ORDER BY jobs.job_index
