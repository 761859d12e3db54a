-- First submission, seconds since 1970, of a job of one Slurm source that a changed file may make an attempt of another job, or
-- separate from it. It is any job with the id of a requeued job in the file.
WITH requeued AS (
    SELECT DISTINCT coalesce(cluster, '') AS cluster_name, job_id
    FROM raw.slurm_jobs
    WHERE source = $source AND state IN ('REQUEUED', 'NODE_FAIL', 'PREEMPTED', 'BOOT_FAIL')
),

changed AS (
    SELECT DISTINCT coalesce(cluster, '') AS cluster_name, job_id
    FROM raw.slurm_jobs
    WHERE source = $source AND file IN (SELECT file FROM core.changed_files WHERE source = $source)
)

SELECT min(jobs.submit_s)
FROM raw.slurm_jobs AS jobs
INNER JOIN requeued ON jobs.job_id = requeued.job_id AND coalesce(jobs.cluster, '') = requeued.cluster_name
SEMI JOIN changed ON jobs.job_id = changed.job_id AND coalesce(jobs.cluster, '') = changed.cluster_name
WHERE jobs.source = $source
