-- Jobs with more processors than the cluster; the file and line say where they stand.
SELECT jobs.file, jobs.line, jobs.job_id, jobs.procs, sources.cluster_procs
FROM core.jobs AS jobs
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE jobs.source = $source AND jobs.procs > sources.cluster_procs
ORDER BY jobs.job_index
