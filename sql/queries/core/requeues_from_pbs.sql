-- Attempts of jobs of one PBS source, submitted from $from_s on, that ended in a requeue, beside the jobs they belong to: requeue
-- records, and ends that a later end of the same job replaces. Seconds since 1970 ($clock_zero).
WITH jobs AS (
    SELECT job_id, submit_time, start_time, min(job_index) AS job_index
    FROM core.jobs
    WHERE source = $source AND submit_time >= $clock_zero::TIMESTAMP + to_seconds($from_s)
    GROUP BY ALL
),

attempts AS (
    SELECT records.*
    FROM raw.pbs_records AS records
    LEFT JOIN (FROM core.repeats WHERE source = $source) AS repeats ON records.file = repeats.file AND records.line = repeats.line
    WHERE
        records.source = $source
        AND (records.record_type = 'R' OR (records.record_type = 'E' AND repeats.file IS NOT NULL))
        AND records.ctime_s >= $from_s
        AND records.start_s <= records.end_s
        AND coalesce(records.procs, records.requested_procs) IS NOT NULL
    -- the same record in two files is one
    QUALIFY row_number() OVER (
        PARTITION BY records.job_id, records.ctime_s, records.start_s, records.end_s ORDER BY records.file, records.line
    ) = 1
),

suspended AS (
    SELECT job_id, submit_s, start_s, sum(to_s - from_s)::BIGINT AS suspended_s FROM suspended_jobs GROUP BY ALL
)

SELECT
    $source AS source,
    jobs.job_index,
    attempts.job_id,
    coalesce(
        attempts.run_count,
        row_number() OVER (PARTITION BY attempts.job_id, attempts.ctime_s ORDER BY attempts.start_s, attempts.file, attempts.line)
    ) AS attempt,
    $clock_zero::TIMESTAMP + to_seconds(attempts.ctime_s) AS submit_time,
    $clock_zero::TIMESTAMP + to_seconds(attempts.start_s) AS start_time,
    $clock_zero::TIMESTAMP + to_seconds(attempts.end_s) AS end_time,
    attempts.end_s - attempts.start_s - coalesce(suspended.suspended_s, 0) AS runtime_s,
    coalesce(attempts.procs, attempts.requested_procs) AS procs,
    attempts.used_cpu_s,
    attempts.exit_status,
    attempts.file,
    attempts.line
FROM attempts
LEFT JOIN suspended
    ON
        attempts.job_id = suspended.job_id
        AND attempts.ctime_s = suspended.submit_s
        AND attempts.start_s = suspended.start_s
LEFT JOIN jobs
    ON attempts.job_id = jobs.job_id AND jobs.submit_time = $clock_zero::TIMESTAMP + to_seconds(attempts.ctime_s)
WHERE jobs.start_time IS DISTINCT FROM $clock_zero::TIMESTAMP + to_seconds(attempts.start_s)
