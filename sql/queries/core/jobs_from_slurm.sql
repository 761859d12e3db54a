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
        used_cpu_s,
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
        nullif(
            array_to_string(regexp_extract_all(coalesce(allocated_tres, requested_tres), 'gres/gpu:([^=,]+=\d{1,9})', 1), ','), ''
        ) AS gpu_types,
        memory_per,
        constraints AS features,
        regexp_matches(submit_line, '(^|\s)--exclusive(\s|=|$)') AS is_exclusive,
        reason,
        priority,
        CASE WHEN start_s IS NOT NULL THEN node_list END AS held_nodes
    FROM slurm
)

SELECT * FROM final
