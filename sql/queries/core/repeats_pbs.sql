-- End records of one PBS source, of jobs submitted from $from_s and before $to_s, that are not the last end of their job.
WITH ended AS (
    SELECT job_id, ctime_s, start_s, end_s, file, line
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'E' AND ctime_s >= $from_s AND ctime_s < $to_s
),

repeated AS (
    SELECT job_id, ctime_s FROM ended GROUP BY job_id, ctime_s HAVING count(*) > 1
),

ranked AS (
    SELECT *, row_number() OVER (PARTITION BY job_id, ctime_s ORDER BY end_s DESC, start_s DESC, file, line) AS position
    FROM ended
    SEMI JOIN repeated USING (job_id, ctime_s)
)

SELECT $source AS source, job_id, ctime_s AS submit_s, start_s, end_s, file, line
FROM ranked
WHERE position > 1
