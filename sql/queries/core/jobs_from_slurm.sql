-- Canonical jobs of one Slurm source, submitted from $from_s and before $to_s, seconds since 1970 ($clock_zero); the first has the
-- index $first_index. A job that was cancelled before it
-- started has no start; it waited until its end.
WITH slurm AS (
    SELECT jobs.*
    FROM raw.slurm_jobs AS jobs
    ANTI JOIN (FROM core.repeats WHERE source = $source) AS repeats ON jobs.file = repeats.file AND jobs.line = repeats.line
    WHERE jobs.source = $source AND jobs.submit_s >= $from_s AND jobs.submit_s < $to_s
    ORDER BY jobs.submit_s, jobs.file, jobs.line
),

final AS (
    SELECT
        source,
        $first_index + row_number() OVER () - 1 AS job_index,
        job_id,
        $clock_zero::TIMESTAMP + to_seconds(submit_s) AS submit_time,
        $clock_zero::TIMESTAMP + to_seconds(coalesce(eligible_s, submit_s)) AS eligible_time,
        $clock_zero::TIMESTAMP + to_seconds(start_s) AS start_time,
        $clock_zero::TIMESTAMP + to_seconds(end_s) AS end_time,
        coalesce(start_s, end_s) - submit_s AS wait_s,
        greatest(coalesce(start_s, end_s) - coalesce(eligible_s, submit_s), 0) AS eligible_wait_s,
        end_s - coalesce(start_s, end_s) AS runtime_s,
        procs,
        requested_procs,
        CASE WHEN time_limit_s > 0 THEN time_limit_s END AS requested_walltime_s,
        gpus,
        nodes,
        requested_memory_kb,
        used_memory_kb,
        used_cpu_s,
        user_name,
        group_name,
        account,
        partition AS queue,
        job_name AS executable,
        CASE
            WHEN state = 'COMPLETED' THEN 'completed'
            WHEN state IN ('CANCELLED', 'REVOKED') THEN 'cancelled'
            WHEN state IN ('FAILED', 'TIMEOUT', 'NODE_FAIL', 'BOOT_FAIL', 'LAUNCH_FAILED', 'RECONFIG_FAIL', 'OUT_OF_MEMORY', 'DEADLINE',
                'PREEMPTED') THEN 'failed'
            ELSE 'unknown'
        END AS status,
        NULL AS run_count,
        0 AS requeued_s,
        file,
        line
    FROM slurm
)

SELECT * FROM final
