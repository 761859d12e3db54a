-- Features and true run times of the jobs a runtime model can learn from or be scored on, in submit order.
SELECT
    features.* EXCLUDE (source),
    alike.* EXCLUDE (source, job_index),
    jobs.submit_time,
    jobs.start_time,
    -- where the log knows no start, a job is taken to have ended as soon as it could have
    coalesce(jobs.end_time, jobs.submit_time + jobs.runtime_s * INTERVAL 1 SECOND) AS end_time,
    jobs.user_name,
    jobs.procs,
    jobs.status,
    jobs.runtime_s
FROM features.job_features AS features
INNER JOIN core.jobs AS jobs ON features.source = jobs.source AND features.job_index = jobs.job_index
INNER JOIN features.similar_jobs AS alike ON features.source = alike.source AND features.job_index = alike.job_index
WHERE features.source = $source AND jobs.runtime_s > 0 AND jobs.procs > 0
ORDER BY features.job_index
