-- Jobs of one PBS source, submitted from $from_s on, that were deleted (D) or aborted (A) while they waited: what their last record of
-- the queue (Q) says, and the file and line of the deletion. They never started, or were requeued after each start. Times are seconds
-- since 1970.
WITH events AS (
    SELECT *, epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT AS time_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type IN ('Q', 'D', 'A') AND logged_s >= $from_s - 2 * 86400
),

queued AS (
    SELECT
        coalesce(ctime_s, time_s) AS submit_s,
        * EXCLUDE (record_type, file, line, logged_s, message, requestor)
    FROM events
    WHERE record_type = 'Q'
    -- a job that is routed to another queue has two in one second: the later one tells
    QUALIFY row_number() OVER (PARTITION BY job_id, time_s ORDER BY file DESC, line DESC) = 1
),

deleted AS (
    SELECT job_id, time_s, min_by(file, (file, line)) AS file, min_by(line, (file, line)) AS line
    FROM events
    WHERE record_type IN ('D', 'A')
    GROUP BY job_id, time_s
),

-- the job that had the id when it was deleted; systems use ids again
matched AS (
    SELECT queued.*, deleted.time_s AS deleted_s, deleted.file, deleted.line
    FROM deleted
    ASOF INNER JOIN queued ON deleted.job_id = queued.job_id AND deleted.time_s >= queued.time_s
),

-- starts that did not end in a requeue
started AS (
    SELECT starts.job_id, starts.ctime_s
    FROM raw.pbs_records AS starts
    ANTI JOIN (FROM raw.pbs_records WHERE source = $source AND record_type = 'R' AND ctime_s >= $from_s - 60) AS requeues
        ON starts.job_id = requeues.job_id AND starts.ctime_s = requeues.ctime_s AND starts.start_s = requeues.start_s
    WHERE starts.source = $source AND starts.record_type IN ('S', 'E') AND starts.ctime_s >= $from_s - 60
),

-- an array as a whole (12[]) has run when one of its tasks has. It also has when its end record has a start. The clock of a
-- queue record may be a minute off.
ran AS (
    SELECT job_id, ctime_s FROM started
    UNION ALL
    SELECT job_id, ctime_s FROM raw.pbs_records
    WHERE source = $source AND record_type = 'E[]' AND start_s IS NOT NULL AND ctime_s >= $from_s - 60
    UNION ALL
    SELECT regexp_replace(job_id, '\[[0-9]+\]', '[]'), ctime_s FROM started WHERE contains(job_id, '[')
)

SELECT *
FROM matched
WHERE
    submit_s >= $from_s
    AND NOT EXISTS (
        FROM ran WHERE ran.job_id = matched.job_id AND ran.ctime_s BETWEEN matched.submit_s - 60 AND matched.deleted_s
    )
QUALIFY row_number() OVER (PARTITION BY job_id, submit_s ORDER BY deleted_s, file, line) = 1
