-- Finished jobs of one Slurm source, submitted from $from_s and before $to_s, that a later line tells again.
WITH ended AS (
    SELECT coalesce(cluster, '') AS cluster, job_id, submit_s, start_s, end_s, file, line
    FROM raw.slurm_jobs
    WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s
),

repeated AS (
    SELECT cluster, job_id, submit_s FROM ended GROUP BY ALL HAVING count(*) > 1
),

ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY cluster, job_id, submit_s ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS position
    FROM ended
    SEMI JOIN repeated USING (cluster, job_id, submit_s)
)

SELECT $source AS source, job_id, submit_s, start_s, end_s, file, line
FROM ranked
WHERE position > 1
