-- First submission, seconds since 1970, of a job of one PBS source whose row a changed file may change, though the file has no record
-- with the job's own times. The file says that the job was deleted, aborted, requeued, suspended or resumed, or it has any record with
-- the id of a job that was deleted while it waited.
WITH changed AS (
    SELECT DISTINCT job_id, record_type IN ('D', 'A', 'R', 'z', 'r') AS is_event
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
        SEMI JOIN (FROM changed WHERE is_event) USING (job_id)
        WHERE source = $source AND record_type IN ('Q', 'E', 'R')
    ),
    (
        SELECT epoch(min(submit_time))::BIGINT
        FROM core.jobs
        SEMI JOIN ids USING (job_id)
        WHERE source = $source AND start_time IS NULL
    )
)
