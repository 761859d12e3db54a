-- First submission, seconds since 1970, of a job of one PBS source that a changed file may make a cancelled job, or no longer one.
-- The file says that the job was deleted or aborted, or it has any record with the id of a cancelled job.
WITH changed AS (
    SELECT DISTINCT job_id, record_type IN ('D', 'A') AS is_end
    FROM raw.pbs_records
    WHERE source = $source AND file IN (SELECT file FROM core.changed_files WHERE source = $source)
),

ids AS (
    SELECT job_id FROM changed
    UNION
    SELECT regexp_replace(job_id, '\[[0-9]+\]', '[]') FROM changed WHERE contains(job_id, '[') -- a task also names its array
)

SELECT least(
    (
        SELECT min(coalesce(
            ctime_s, epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT
        ))
        FROM raw.pbs_records
        SEMI JOIN (FROM changed WHERE is_end) USING (job_id)
        WHERE source = $source AND record_type = 'Q'
    ),
    (
        SELECT epoch(min(submit_time))::BIGINT
        FROM core.jobs
        SEMI JOIN ids USING (job_id)
        WHERE source = $source AND status = 'cancelled'
    )
)
