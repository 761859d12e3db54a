-- What tells jobs apart and when they ended, for looking up similar jobs; jobs that can be replayed, in submit order.
WITH
{{ timed_jobs }}

final AS (
    SELECT
        job_index,
        submit_time,
        taken_end_time AS end_time,
        runtime_s,
        user_name,
        executable,
        requested_walltime_s,
        coalesce(requested_procs, procs) AS requested_procs
    FROM timed_jobs
    WHERE runtime_s > 0 AND procs > 0
)

SELECT * FROM final ORDER BY job_index
