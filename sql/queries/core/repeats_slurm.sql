-- Finished jobs of one Slurm source, submitted from $from_s and before $to_s, that a later line tells again; and attempts of jobs that
-- were requeued, but for the last one. submit_s is the first submission of the job. `requeued_lines` is core.requeued_slurm.
WITH ended AS (
    SELECT coalesce(cluster, '') AS cluster_name, job_id, submit_s, NULL AS state, start_s, end_s, file, line
    FROM raw.slurm_jobs AS jobs
    ANTI JOIN requeued_lines ON jobs.file = requeued_lines.file AND jobs.line = requeued_lines.line
    WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s
    UNION ALL
    SELECT cluster_name, job_id, job_submit_s, state, start_s, end_s, file, line
    FROM requeued_lines
    WHERE job_submit_s >= $from_s AND job_submit_s < $to_s
),

repeated AS (
    SELECT cluster_name, job_id, submit_s FROM ended GROUP BY ALL HAVING count(*) > 1 OR max(state) = 'REQUEUED'
),

ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY cluster_name, job_id, submit_s ORDER BY end_s DESC, start_s DESC NULLS LAST, file, line) AS position
    FROM ended
    SEMI JOIN repeated USING (cluster_name, job_id, submit_s)
)

SELECT $source AS source, job_id, submit_s, start_s, end_s, file, line
FROM ranked
WHERE position > 1 OR state = 'REQUEUED'
