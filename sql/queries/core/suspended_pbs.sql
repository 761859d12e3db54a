-- When started jobs of one PBS source, submitted from $from_s on, were suspended: from a record of suspension (z) to the next one of
-- resumption (r), or to the end. An attempt that ended in a requeue counts as well. Times are seconds since 1970.
WITH attempts AS (
    SELECT DISTINCT job_id, ctime_s, start_s, end_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type IN ('E', 'R') AND ctime_s >= $from_s AND start_s <= end_s
),

-- the same record in two files is one
stamps AS (
    SELECT
        job_id,
        record_type,
        epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT AS time_s,
        min((file, line)) AS place
    FROM raw.pbs_records
    WHERE source = $source AND record_type IN ('z', 'r') AND logged_s >= $from_s - 2 * 86400
    GROUP BY ALL
),

suspensions AS (
    SELECT
        job_id,
        record_type,
        time_s AS from_s,
        lead(time_s) OVER (PARTITION BY job_id ORDER BY time_s, place) AS to_s
    FROM stamps
)

SELECT
    attempts.job_id,
    attempts.ctime_s AS submit_s,
    attempts.start_s,
    suspensions.from_s,
    least(coalesce(suspensions.to_s, attempts.end_s), attempts.end_s) AS to_s
FROM suspensions
INNER JOIN attempts
    ON
        suspensions.job_id = attempts.job_id
        AND suspensions.from_s >= attempts.start_s
        AND suspensions.from_s < attempts.end_s
WHERE suspensions.record_type = 'z' AND suspensions.to_s IS DISTINCT FROM suspensions.from_s
