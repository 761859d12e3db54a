-- [jobs_from_swf]
-- Canonical jobs of one SWF source, submitted from $from_s and before $to_s, seconds of the log's clock. Its second 0 is
-- $clock_zero in UTC. The first job has the index $first_index.
-- held_nodes is no column of core.jobs: core.job_nodes is made of it.
WITH swf AS (
    SELECT jobs.*
    FROM raw.swf_jobs AS jobs
    ANTI JOIN (FROM core.repeats WHERE source = $source) AS repeats ON jobs.file = repeats.file AND jobs.line = repeats.line
    WHERE jobs.source = $source AND jobs.submit_s >= $from_s AND jobs.submit_s < $to_s
    ORDER BY jobs.submit_s, jobs.file, jobs.line
),

timed AS (
    SELECT
        *,
        $clock_zero::TIMESTAMP + to_seconds(submit_s) AS submit_time,
        CASE WHEN wait_s >= 0 THEN $clock_zero::TIMESTAMP + to_seconds(submit_s + wait_s) END AS left_queue_time,
        coalesce(status = 5 AND runtime_s = 0, false) AS never_ran -- cancelled while it waited: then it has left the queue, not started
    FROM swf
),

final AS (
    SELECT
        source,
        $first_index + row_number() OVER () - 1 AS job_index,
        job_number::VARCHAR AS job_id,
        submit_time,
        submit_time AS eligible_time,
        CASE WHEN NOT never_ran THEN left_queue_time END AS start_time,
        left_queue_time + to_seconds(runtime_s) AS end_time,
        CASE WHEN wait_s >= 0 THEN wait_s END AS wait_s,
        CASE WHEN wait_s >= 0 THEN wait_s END AS eligible_wait_s,
        runtime_s,
        CASE WHEN allocated_procs > 0 THEN allocated_procs WHEN requested_procs > 0 THEN requested_procs END AS procs,
        CASE WHEN requested_procs > 0 THEN requested_procs END AS requested_procs,
        CASE WHEN requested_walltime_s > 0 THEN requested_walltime_s END AS requested_walltime_s,
        NULL AS gpus,
        NULL AS nodes,
        CASE WHEN requested_memory_kb >= 0 AND requested_procs > 0 THEN round(requested_memory_kb * requested_procs) END
            AS requested_memory_kb,
        CASE WHEN used_memory_kb >= 0 AND allocated_procs > 0 THEN round(used_memory_kb * allocated_procs) END AS used_memory_kb,
        CASE WHEN average_cpu_s >= 0 AND allocated_procs > 0 THEN average_cpu_s * allocated_procs END AS used_cpu_s,
        user_id::VARCHAR AS user_name,
        group_id::VARCHAR AS group_name,
        NULL AS account,
        queue::VARCHAR AS queue,
        executable::VARCHAR AS executable,
        CASE status WHEN 1 THEN 'completed' WHEN 0 THEN 'failed' WHEN 5 THEN 'cancelled' ELSE 'unknown' END AS status,
        NULL AS run_count,
        0 AS requeued_s,
        file,
        line,
        CASE WHEN preceding_job > 0 THEN 'afterany:' || preceding_job END AS dependency,
        NULL AS held_nodes
    FROM timed
)

SELECT * FROM final

-- [partial_swf]
-- Lines of one SWF source about a part of a job's run (status 2 to 4). The same file has a line of the job as a whole.
WITH parts AS (
    SELECT file, line, job_number FROM raw.swf_jobs WHERE source = $source AND status IN (2, 3, 4)
),

wholes AS (
    SELECT DISTINCT jobs.file, jobs.job_number
    FROM raw.swf_jobs AS jobs
    SEMI JOIN parts ON jobs.file = parts.file AND jobs.job_number = parts.job_number
    WHERE jobs.source = $source AND jobs.status IN (0, 1, 5)
)

SELECT parts.file, parts.line
FROM parts
SEMI JOIN wholes ON parts.file = wholes.file AND parts.job_number = wholes.job_number

-- [repeats_swf]
-- Lines of one SWF source, of jobs submitted from $from_s and before $to_s, that are no job of their own.
-- They are parts of a job's run (`partial_lines` is core.partial_swf), and lines that an earlier file has too. Within one file nothing is
-- taken for a duplicate: the archive's logs are as their makers left them.
WITH here AS (
    SELECT * FROM raw.swf_jobs WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s
),

ranked AS (
    SELECT
        *,
        dense_rank() OVER (
            PARTITION BY
                job_number, submit_s, wait_s, runtime_s, allocated_procs, requested_procs, requested_walltime_s, status, user_id,
                group_id, executable, queue
            ORDER BY file
        ) AS position
    FROM here
    ANTI JOIN partial_lines ON here.file = partial_lines.file AND here.line = partial_lines.line
),

final AS (
    SELECT * EXCLUDE (position), 'duplicate' AS reason FROM ranked WHERE position > 1
    UNION ALL
    SELECT here.*, 'partial execution' AS reason
    FROM here
    SEMI JOIN partial_lines ON here.file = partial_lines.file AND here.line = partial_lines.line
)

SELECT
    source,
    job_number::VARCHAR AS job_id,
    submit_s,
    submit_s + wait_s AS start_s,
    submit_s + wait_s + runtime_s AS end_s,
    file,
    line,
    reason
FROM final
