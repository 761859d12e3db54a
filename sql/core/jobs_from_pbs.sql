-- Canonical jobs of one PBS source; $clock_zero is 1970, since the log's clock is Unix time.
WITH pbs AS (
    SELECT * FROM raw.pbs_jobs WHERE source = $source
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
        end_s - start_s AS runtime_s,
        procs,
        requested_procs,
        CASE WHEN requested_walltime_s > 0 THEN requested_walltime_s END AS requested_walltime_s,
        user_name,
        group_name,
        queue,
        job_name AS executable,
        CASE WHEN exit_status = 0 THEN 'completed' WHEN exit_status IS NULL THEN 'unknown' ELSE 'failed' END AS status,
        file,
        line
    FROM pbs
)

SELECT * FROM final
