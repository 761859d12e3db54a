-- Canonical jobs of one PBS source; $clock_zero is 1970, since the log's clock is Unix time.
WITH requeued AS (
    SELECT job_id, ctime_s, count(*) AS requeues, sum(end_s - start_s)::BIGINT AS requeued_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'R'
    GROUP BY job_id, ctime_s
),

pbs AS (
    SELECT jobs.*, requeued.requeues, requeued.requeued_s
    FROM raw.pbs_records AS jobs
    LEFT JOIN requeued ON jobs.job_id = requeued.job_id AND jobs.ctime_s = requeued.ctime_s
    WHERE jobs.source = $source AND jobs.record_type = 'E'
),

final AS (
    SELECT
        source,
        row_number() OVER (ORDER BY ctime_s, file, line) - 1 AS job_index,
        job_id,
        $clock_zero::TIMESTAMP + to_seconds(ctime_s) AS submit_time,
        $clock_zero::TIMESTAMP + to_seconds(coalesce(etime_s, ctime_s)) AS eligible_time,
        $clock_zero::TIMESTAMP + to_seconds(start_s) AS start_time,
        $clock_zero::TIMESTAMP + to_seconds(end_s) AS end_time,
        start_s - ctime_s AS wait_s,
        coalesce(eligible_wait_s, greatest(start_s - coalesce(etime_s, ctime_s), 0)) AS eligible_wait_s,
        end_s - start_s AS runtime_s,
        procs,
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
        CASE WHEN exit_status = 0 THEN 'completed' WHEN exit_status IS NULL THEN 'unknown' ELSE 'failed' END AS status,
        coalesce(run_count, 1 + coalesce(requeues, 0)) AS run_count,
        coalesce(requeued_s, 0) AS requeued_s,
        file,
        line
    FROM pbs
)

SELECT * FROM final
