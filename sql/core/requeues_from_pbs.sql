-- Requeued attempts of one PBS source, beside the jobs they belong to; $clock_zero is 1970.
WITH jobs AS (
    SELECT job_id, submit_time, min(job_index) AS job_index
    FROM core.jobs
    WHERE source = $source
    GROUP BY job_id, submit_time
)

SELECT
    requeues.source,
    jobs.job_index,
    requeues.job_id,
    coalesce(
        requeues.run_count,
        row_number() OVER (PARTITION BY requeues.job_id, requeues.ctime_s ORDER BY requeues.start_s, requeues.file, requeues.line)
    ) AS attempt,
    $clock_zero::TIMESTAMP + to_seconds(requeues.start_s) AS start_time,
    $clock_zero::TIMESTAMP + to_seconds(requeues.end_s) AS end_time,
    requeues.end_s - requeues.start_s AS runtime_s,
    requeues.procs,
    requeues.used_cpu_s,
    requeues.exit_status,
    requeues.file,
    requeues.line
FROM raw.pbs_records AS requeues
LEFT JOIN jobs
    ON
        requeues.job_id = jobs.job_id
        AND jobs.submit_time = $clock_zero::TIMESTAMP + to_seconds(requeues.ctime_s)
WHERE requeues.source = $source AND requeues.record_type = 'R'
