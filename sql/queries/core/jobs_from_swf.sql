-- Canonical jobs of one SWF source, submitted from $from_s and before $to_s, seconds of the log's clock, whose second 0 is
-- $clock_zero in UTC; the first has the index $first_index.
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
        NULL AS held_nodes
    FROM timed
)

SELECT * FROM final
