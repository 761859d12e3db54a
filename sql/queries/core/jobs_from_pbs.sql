-- Canonical jobs of one PBS source, submitted from $from_s and before $to_s, seconds since 1970 ($clock_zero); the first has the
-- index $first_index. Ends of jobs, and those in `cancelled_jobs` (core.cancelled_pbs), which never started.
WITH attempts AS (
    SELECT DISTINCT job_id, ctime_s, start_s, end_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'R' AND start_s <= end_s AND ctime_s >= $from_s AND ctime_s < $to_s
    UNION
    SELECT job_id, submit_s AS ctime_s, start_s, end_s
    FROM core.repeats
    WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s
),

requeued AS (
    SELECT ended.file, ended.line, count(*) AS requeues, sum(attempts.end_s - attempts.start_s)::BIGINT AS requeued_s
    FROM attempts
    INNER JOIN raw.pbs_records AS ended
        ON
            attempts.job_id = ended.job_id
            AND attempts.ctime_s = ended.ctime_s
            AND attempts.start_s IS DISTINCT FROM ended.start_s
    WHERE ended.source = $source AND ended.record_type = 'E' AND ended.ctime_s >= $from_s AND ended.ctime_s < $to_s
    GROUP BY ended.file, ended.line
),

pbs AS (
    SELECT
        jobs.* EXCLUDE (source, record_type, logged_s, message, requestor),
        jobs.ctime_s AS submit_s,
        requeued.requeues,
        requeued.requeued_s,
        NULL AS deleted_s
    FROM raw.pbs_records AS jobs
    LEFT JOIN requeued ON jobs.file = requeued.file AND jobs.line = requeued.line
    ANTI JOIN (FROM core.repeats WHERE source = $source) AS repeats ON jobs.file = repeats.file AND jobs.line = repeats.line
    WHERE jobs.source = $source AND jobs.record_type = 'E' AND jobs.ctime_s >= $from_s AND jobs.ctime_s < $to_s
    UNION ALL BY NAME
    SELECT * EXCLUDE (source, time_s)
    FROM cancelled_jobs
    WHERE submit_s >= $from_s AND submit_s < $to_s
),

ordered AS (
    SELECT * FROM pbs ORDER BY submit_s, file, line
),

final AS (
    SELECT
        $source AS source,
        $first_index + row_number() OVER () - 1 AS job_index,
        job_id,
        $clock_zero::TIMESTAMP + to_seconds(submit_s) AS submit_time,
        $clock_zero::TIMESTAMP + to_seconds(coalesce(etime_s, submit_s)) AS eligible_time,
        CASE WHEN deleted_s IS NULL THEN $clock_zero::TIMESTAMP + to_seconds(start_s) END AS start_time,
        $clock_zero::TIMESTAMP + to_seconds(coalesce(deleted_s, end_s)) AS end_time,
        coalesce(deleted_s, start_s) - submit_s AS wait_s,
        coalesce(eligible_wait_s, greatest(coalesce(deleted_s, start_s) - coalesce(etime_s, submit_s), 0)) AS eligible_wait_s,
        CASE WHEN deleted_s IS NULL THEN end_s - start_s ELSE 0 END AS runtime_s,
        coalesce(procs, requested_procs) AS procs,
        requested_procs,
        CASE WHEN requested_walltime_s > 0 THEN requested_walltime_s END AS requested_walltime_s,
        gpus,
        nodes,
        requested_memory_kb,
        used_memory_kb,
        used_cpu_s,
        user_name,
        group_name,
        account,
        queue,
        job_name AS executable,
        CASE
            WHEN deleted_s IS NOT NULL THEN 'cancelled'
            WHEN exit_status = 0 THEN 'completed'
            WHEN exit_status IS NULL THEN 'unknown'
            ELSE 'failed'
        END AS status,
        CASE WHEN deleted_s IS NULL THEN coalesce(run_count, 1 + coalesce(requeues, 0)) ELSE 0 END AS run_count,
        coalesce(requeued_s, 0) AS requeued_s,
        file,
        line
    FROM ordered
)

SELECT * FROM final
