-- Lines of one SWF source, of jobs submitted from $from_s and before $to_s, that are no job of their own: parts of a job's run
-- (`partial_lines` is core.partial_swf), and lines that an earlier file tells too. Within one file nothing is taken for a duplicate:
-- the archive's logs are as their makers left them.
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
