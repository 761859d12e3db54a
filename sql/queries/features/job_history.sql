-- What tells jobs apart and when they ended, for looking up similar jobs; jobs that can be replayed, in submit order.
SELECT
    job_index,
    submit_time,
    -- where the log knows no start, a job is taken to have ended as soon as it could have
    coalesce(end_time, submit_time + runtime_s * INTERVAL 1 SECOND) AS end_time,
    runtime_s,
    user_name,
    executable,
    requested_walltime_s,
    coalesce(requested_procs, procs) AS requested_procs
FROM core.jobs
WHERE source = $source AND runtime_s > 0 AND procs > 0
ORDER BY job_index
