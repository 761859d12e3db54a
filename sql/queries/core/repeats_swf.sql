-- Lines of one SWF source, of jobs submitted from $from_s and before $to_s, that an earlier file tells too. Within one file nothing
-- is taken for a repeat: the archive's logs are as their makers left them.
WITH ranked AS (
    SELECT
        *,
        dense_rank() OVER (
            PARTITION BY
                job_number, submit_s, wait_s, runtime_s, allocated_procs, requested_procs, requested_walltime_s, status, user_id,
                group_id, executable, queue
            ORDER BY file
        ) AS position
    FROM raw.swf_jobs
    WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s
)

SELECT source, job_number::VARCHAR AS job_id, submit_s, submit_s + wait_s AS start_s, submit_s + wait_s + runtime_s AS end_s, file, line
FROM ranked
WHERE position > 1
