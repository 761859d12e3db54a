-- [jobs_from_slurm]
-- Canonical jobs of one Slurm source, submitted from $from_s and before $to_s, seconds since 1970 ($clock_zero); the first has the
-- index $first_index. A job that left the queue before it started has no start; it waited until its end. A job that was requeued
-- (`requeued_lines`, of core.requeued_slurm) is its last attempt, submitted when the first one was.
-- held_nodes is no column of core.jobs: core.job_nodes is made of it.
WITH lines AS (
    SELECT jobs.* EXCLUDE (cluster), coalesce(jobs.cluster, '') AS cluster_name, jobs.submit_s AS job_submit_s
    FROM raw.slurm_jobs AS jobs
    ANTI JOIN requeued_lines ON jobs.file = requeued_lines.file AND jobs.line = requeued_lines.line
    WHERE jobs.source = $source AND jobs.submit_s >= $from_s AND jobs.submit_s < $to_s AND jobs.end_s IS NOT NULL
    UNION ALL BY NAME
    SELECT * EXCLUDE (cluster) FROM requeued_lines WHERE job_submit_s >= $from_s AND job_submit_s < $to_s
),

attempts AS (
    SELECT lines.cluster_name, lines.job_id, lines.job_submit_s, lines.start_s, max(lines.end_s) - lines.start_s AS runtime_s
    FROM lines
    SEMI JOIN (FROM core.repeats WHERE source = $source) AS repeats ON lines.file = repeats.file AND lines.line = repeats.line
    WHERE lines.start_s IS NOT NULL
    GROUP BY lines.cluster_name, lines.job_id, lines.job_submit_s, lines.start_s
),

jobs AS (
    SELECT lines.*
    FROM lines
    ANTI JOIN (FROM core.repeats WHERE source = $source) AS repeats ON lines.file = repeats.file AND lines.line = repeats.line
),

requeued AS (
    SELECT jobs.file, jobs.line, count(*) AS requeues, sum(attempts.runtime_s)::BIGINT AS requeued_s
    FROM attempts
    INNER JOIN jobs
        ON
            attempts.cluster_name = jobs.cluster_name
            AND attempts.job_id = jobs.job_id
            AND attempts.job_submit_s = jobs.job_submit_s
            AND attempts.start_s IS DISTINCT FROM jobs.start_s
    GROUP BY jobs.file, jobs.line
),

slurm AS (
    SELECT
        jobs.* EXCLUDE (submit_s),
        jobs.job_submit_s AS submit_s,
        requeued.requeues,
        requeued.requeued_s,
        least(coalesce(jobs.suspended_s, 0), jobs.end_s - coalesce(jobs.start_s, jobs.end_s)) AS suspended_in_run_s
    FROM jobs
    LEFT JOIN requeued ON jobs.file = requeued.file AND jobs.line = requeued.line
    ORDER BY jobs.job_submit_s, jobs.file, jobs.line
),

{{ canonical_slurm }}

SELECT * FROM final

-- [first_requeued_slurm]
-- First submission, seconds since 1970, of a job of one Slurm source that a changed file may make an attempt of another job, or
-- separate from it. It is any job with the id of a requeued job in the file.
WITH requeued AS (
    SELECT DISTINCT coalesce(cluster, '') AS cluster_name, job_id
    FROM raw.slurm_jobs
    WHERE source = $source AND state IN ('REQUEUED', 'NODE_FAIL', 'PREEMPTED', 'BOOT_FAIL')
),

changed AS (
    SELECT DISTINCT coalesce(cluster, '') AS cluster_name, job_id
    FROM raw.slurm_jobs
    WHERE source = $source AND file IN (SELECT file FROM core.changed_files WHERE source = $source)
)

SELECT min(jobs.submit_s)
FROM raw.slurm_jobs AS jobs
INNER JOIN requeued ON jobs.job_id = requeued.job_id AND coalesce(jobs.cluster, '') = requeued.cluster_name
SEMI JOIN changed ON jobs.job_id = changed.job_id AND coalesce(jobs.cluster, '') = changed.cluster_name
WHERE jobs.source = $source

-- [repeats_slurm]
-- Finished jobs of one Slurm source, submitted from $from_s and before $to_s, that a later line tells again; and attempts of jobs that
-- were requeued, but for the last one. submit_s is the first submission of the job. `requeued_lines` is core.requeued_slurm.
WITH ended AS (
    SELECT coalesce(cluster, '') AS cluster_name, job_id, submit_s, NULL AS state, start_s, end_s, file, line
    FROM raw.slurm_jobs AS jobs
    ANTI JOIN requeued_lines ON jobs.file = requeued_lines.file AND jobs.line = requeued_lines.line
    WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s AND end_s IS NOT NULL
    UNION ALL
    SELECT cluster_name, job_id, job_submit_s, state, start_s, end_s, file, line
    FROM requeued_lines
    WHERE job_submit_s >= $from_s AND job_submit_s < $to_s
),

repeated AS (
    SELECT cluster_name, job_id, submit_s FROM ended GROUP BY ALL HAVING count(*) > 1 OR max(state) = 'REQUEUED'
),

ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY cluster_name, job_id, submit_s ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS position
    FROM ended
    SEMI JOIN repeated USING (cluster_name, job_id, submit_s)
)

SELECT $source AS source, job_id, submit_s, start_s, end_s, file, line
FROM ranked
WHERE position > 1 OR state = 'REQUEUED'

-- [requeued_slurm]
-- Lines of one Slurm source that tell of jobs which Slurm requeued under their id, with job_submit_s, the first submission of the job.
-- sacct --duplicates prints each attempt, and Slurm gives a requeued job a new Submit: no earlier than the start of the attempt
-- before, mostly its end. An id that another user has, or that comes again more than a day later, is of another job.
WITH ids AS (
    SELECT DISTINCT coalesce(cluster, '') AS cluster_name, job_id
    FROM raw.slurm_jobs
    WHERE source = $source AND state IN ('REQUEUED', 'NODE_FAIL', 'PREEMPTED', 'BOOT_FAIL')
),

lines AS (
    SELECT jobs.*, ids.cluster_name
    FROM raw.slurm_jobs AS jobs
    INNER JOIN ids ON jobs.job_id = ids.job_id AND coalesce(jobs.cluster, '') = ids.cluster_name
    WHERE jobs.source = $source AND jobs.end_s IS NOT NULL
),

submissions AS (
    SELECT
        cluster_name,
        job_id,
        submit_s,
        first(user_name ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS user_name,
        first(state ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS state,
        first(start_s ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS start_s,
        max(end_s) AS end_s
    FROM lines
    GROUP BY ALL
),

linked AS (
    SELECT
        *,
        coalesce(
            lag(state) OVER ids IN ('REQUEUED', 'NODE_FAIL', 'PREEMPTED', 'BOOT_FAIL')
            AND lag(user_name) OVER ids IS NOT DISTINCT FROM user_name
            AND submit_s BETWEEN lag(start_s) OVER ids AND lag(end_s) OVER ids + 86400,
            false
        ) AS goes_on
    FROM submissions
    WINDOW ids AS (PARTITION BY cluster_name, job_id ORDER BY submit_s)
),

numbered AS (
    SELECT *, count(*) FILTER (NOT goes_on) OVER (PARTITION BY cluster_name, job_id ORDER BY submit_s) AS number FROM linked
),

jobs AS (
    SELECT *, min(submit_s) OVER job AS job_submit_s, count(*) OVER job AS submissions
    FROM numbered
    WINDOW job AS (PARTITION BY cluster_name, job_id, number)
)

SELECT lines.*, jobs.job_submit_s
FROM lines
INNER JOIN jobs
    ON lines.cluster_name = jobs.cluster_name AND lines.job_id = jobs.job_id AND lines.submit_s = jobs.submit_s
WHERE jobs.submissions > 1 OR jobs.state = 'REQUEUED'

-- [requeues_from_slurm]
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
    nullif(attempts.used_cpu_s, 0) AS used_cpu_s,
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

-- [waiting_slurm]
-- Jobs of one Slurm source that had not started when the log was printed last, with the columns of core.jobs, numbered from $first_index.
-- A line is none of them where another tells that the job ended, or that it ran before and was requeued. Lines are those of the newest file,
-- since a job that waits in an earlier one may run in it, which no row tells.
WITH newest AS (
    SELECT file FROM raw.slurm_jobs WHERE source = $source
    GROUP BY file ORDER BY max(greatest(submit_s, coalesce(end_s, submit_s))) DESC, file DESC LIMIT 1
),

waiting AS (
    SELECT *, coalesce(cluster, '') AS cluster_name
    FROM raw.slurm_jobs SEMI JOIN newest USING (file)
    WHERE source = $source AND end_s IS NULL
    QUALIFY row_number() OVER (PARTITION BY cluster_name, job_id, submit_s ORDER BY file DESC, line DESC) = 1
),

slurm AS (
    SELECT waiting.*, NULL::BIGINT AS requeues, NULL::BIGINT AS requeued_s, 0 AS suspended_in_run_s
    FROM waiting
    ANTI JOIN (FROM raw.slurm_jobs WHERE source = $source) AS ended
        ON
            waiting.cluster_name = coalesce(ended.cluster, '')
            AND waiting.job_id = ended.job_id
            AND ended.end_s >= waiting.submit_s
    ORDER BY waiting.submit_s, waiting.file, waiting.line
),

{{ canonical_slurm }}

SELECT * EXCLUDE (held_nodes) FROM final
