-- Attempts of jobs of one Slurm source, submitted from $from_s on, that ended in a requeue, beside the jobs they belong to: lines of
-- core.repeats that tell of another start than the job does. Seconds since 1970 ($clock_zero).
WITH attempts AS (
    SELECT
        lines.* EXCLUDE (cluster, submit_s),
        coalesce(lines.cluster, '') AS cluster_name,
        $clock_zero::TIMESTAMP + to_seconds(repeats.submit_s) AS submit_time,
        $clock_zero::TIMESTAMP + to_seconds(lines.start_s) AS start_time
    FROM core.repeats AS repeats
    INNER JOIN raw.slurm_jobs AS lines ON repeats.file = lines.file AND repeats.line = lines.line
    WHERE repeats.source = $source AND lines.source = $source AND repeats.submit_s >= $from_s AND lines.start_s IS NOT NULL
    -- the same attempt in two files is one
    QUALIFY row_number() OVER (
        PARTITION BY cluster_name, lines.job_id, repeats.submit_s, lines.start_s ORDER BY lines.end_s DESC, lines.file, lines.line
    ) = 1
),

jobs AS (
    SELECT jobs.job_id, jobs.submit_time, jobs.start_time, jobs.job_index, coalesce(lines.cluster, '') AS cluster_name
    FROM core.jobs AS jobs
    SEMI JOIN attempts ON jobs.job_id = attempts.job_id AND jobs.submit_time = attempts.submit_time
    INNER JOIN raw.slurm_jobs AS lines ON jobs.source = lines.source AND jobs.file = lines.file AND jobs.line = lines.line
    WHERE jobs.source = $source
)

SELECT
    $source AS source,
    jobs.job_index,
    attempts.job_id,
    row_number() OVER (PARTITION BY attempts.cluster_name, attempts.job_id, attempts.submit_time ORDER BY attempts.start_time)
        AS attempt,
    attempts.submit_time,
    attempts.start_time,
    $clock_zero::TIMESTAMP + to_seconds(attempts.end_s) AS end_time,
    attempts.end_s - attempts.start_s AS runtime_s,
    attempts.procs,
    attempts.used_cpu_s,
    attempts.exit_code AS exit_status,
    attempts.file,
    attempts.line
FROM attempts
LEFT JOIN jobs
    ON
        attempts.cluster_name = jobs.cluster_name
        AND attempts.job_id = jobs.job_id
        AND attempts.submit_time = jobs.submit_time
WHERE jobs.start_time IS DISTINCT FROM attempts.start_time
