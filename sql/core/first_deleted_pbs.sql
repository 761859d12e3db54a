-- First submission of a job of one PBS source that a changed file says was deleted or aborted, seconds since 1970.
WITH deleted AS (
    SELECT DISTINCT job_id
    FROM raw.pbs_records
    WHERE
        source = $source
        AND record_type IN ('D', 'A')
        AND file IN (SELECT file FROM core.changed_files WHERE source = $source)
)

SELECT min(coalesce(
    ctime_s, epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT
))
FROM raw.pbs_records
SEMI JOIN deleted USING (job_id)
WHERE source = $source AND record_type = 'Q'
