-- Earliest time that the rows of one file have anything to do with, seconds since 1970.
SELECT min(time_s)
FROM (
    SELECT least(min(ctime_s), min(logged_s)) AS time_s FROM raw.pbs_records WHERE source = $source AND file = $file
    UNION ALL
    SELECT epoch(min(submit_time))::BIGINT AS time_s FROM core.jobs WHERE source = $source AND file = $file
    UNION ALL
    -- the records of a suspension do not tell when its job was submitted
    SELECT epoch(min(submit_time))::BIGINT AS time_s
    FROM core.suspensions
    WHERE
        source = $source
        AND job_id IN (
            SELECT job_id FROM raw.pbs_records WHERE source = $source AND file = $file AND record_type IN ('z', 'r')
        )
)
