-- The jobs of one PBS or Slurm source as fields of the Standard Workload Format, in the order of submission; seconds count from
-- $clock_zero. A job that left the queue without a start has the status of a cancelled one, whatever ended it. Users, groups, executables and queues are numbers by first appearance: SWF has no names.
WITH used AS (
    SELECT file, line, used_cpu_s FROM raw.pbs_records WHERE source = $source AND record_type = 'E'
    UNION ALL
    SELECT file, line, used_cpu_s FROM raw.slurm_jobs WHERE source = $source
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
