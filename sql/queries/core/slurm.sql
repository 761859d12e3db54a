-- [jobs_from_slurm]
-- Canonical jobs of one Slurm source, submitted from $from_s and before $to_s, seconds since 1970 ($clock_zero); the first has the
-- index $first_index. A job that left the queue before it started has no start; it waited until its end. A job that was requeued
-- (`requeued_lines`, of core.requeued_slurm) is its last attempt, submitted when the first one was.
-- held_nodes is no column of core.jobs: core.job_nodes is made of it.
WITH lines AS (
    SELECT jobs.* EXCLUDE (cluster), coalesce(jobs.cluster, '') AS cluster_name, jobs.submit_s AS job_submit_s
    FROM raw.slurm_jobs AS jobs
    ANTI JOIN requeued_lines ON jobs.file = requeued_lines.file AND jobs.line = requeued_lines.line
    WHERE jobs.source = $source AND jobs.submit_s >= $from_s AND jobs.submit_s < $to_s
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

allocated AS (
    SELECT
        *,
        nullif(array_to_string(regexp_extract_all(requested_tres, 'gres/gpu:([^=,]+=\d{1,9})', 1), ','), '') AS tracked_gpu_types,
        nullif(array_to_string(regexp_extract_all(allocated_tres, 'gres/gpu:([^=,]+=\d{1,9})', 1), ','), '') AS allocated_gpu_types
    FROM slurm
),

typed AS (
    SELECT
        *,
        -- the log may name the type of what a job got that had asked for any
        CASE
            WHEN tracked_gpu_types IS NOT NULL THEN tracked_gpu_types
            WHEN asked_gpus IS NOT NULL THEN nullif(array_to_string(regexp_extract_all(asked_gpus, '[^=,]+=\d+'), ','), '')
            WHEN regexp_matches(requested_tres, '(^|,)gres/gpu=[1-9]') THEN NULL
            ELSE allocated_gpu_types
        END AS requested_gpu_types
    FROM allocated
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
        end_s - coalesce(start_s, end_s) - suspended_in_run_s AS runtime_s,
        procs,
        requested_procs,
        CASE WHEN time_limit_s > 0 THEN time_limit_s END AS requested_walltime_s,
        gpus,
        nodes,
        requested_memory_kb,
        used_memory_kb,
        -- what ran used some milliseconds: 0 stands where Slurm did not measure
        CASE WHEN used_cpu_s > 0 OR start_s IS NULL THEN used_cpu_s END AS used_cpu_s,
        user_name,
        group_name,
        account,
        partition AS queue,
        job_name AS executable,
        CASE
            WHEN state = 'COMPLETED' THEN 'completed'
            WHEN state IN ('CANCELLED', 'REVOKED') THEN 'cancelled'
            WHEN state IN ('FAILED', 'LAUNCH_FAILED', 'RECONFIG_FAIL') THEN 'failed'
            WHEN state = 'TIMEOUT' THEN 'timeout'
            WHEN state = 'OUT_OF_MEMORY' THEN 'out_of_memory'
            WHEN state IN ('NODE_FAIL', 'BOOT_FAIL') THEN 'node_failure'
            WHEN state = 'PREEMPTED' THEN 'preempted'
            WHEN state = 'REQUEUED' THEN 'requeued'
            WHEN state = 'DEADLINE' THEN 'deadline'
            ELSE 'unknown'
        END AS status,
        CASE WHEN requeues > 0 THEN requeues + (start_s IS NOT NULL)::BIGINT END AS run_count,
        coalesce(requeued_s, 0) AS requeued_s,
        file,
        line,
        suspended_in_run_s AS suspended_s,
        qos,
        reservation,
        nullif(regexp_extract(requested_tres, '(?:^|,)node=(\d{1,9})(?:,|$)', 1), '')::BIGINT AS requested_nodes,
        coalesce(allocated_gpu_types, requested_gpu_types) AS gpu_types,
        requested_gpu_types,
        memory_per,
        constraints AS features,
        -- of the options before the script; with user and mcs other jobs may be on the nodes
        regexp_matches(
            regexp_replace(submit_line, '\s--wrap(\s|=).*', ''),
            '^\S+(\s+-\S*(\s+[^-\s]\S*)?)*\s+--exclus(i|iv|ive)?(=(?i:exclusive|allocation|topo))?(\s|$)'
        ) AS is_exclusive,
        reason,
        priority,
        CASE WHEN start_s IS NOT NULL THEN node_list END AS held_nodes
    FROM typed
)

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
    WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s
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
    WHERE jobs.source = $source
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
