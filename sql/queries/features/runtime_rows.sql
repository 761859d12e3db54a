-- Features and true run times of the jobs a runtime model can learn from or be scored on, in submit order.
WITH
{{ timed_jobs }}

final AS (
    SELECT
        features.* EXCLUDE (source),
        alike.* EXCLUDE (source, job_index),
        jobs.submit_time,
        jobs.start_time,
        jobs.taken_end_time AS end_time,
        jobs.user_name,
        jobs.procs,
        jobs.status,
        jobs.runtime_s
    FROM features.job_features AS features
    INNER JOIN timed_jobs AS jobs ON features.source = jobs.source AND features.job_index = jobs.job_index
    INNER JOIN features.similar_jobs AS alike ON features.source = alike.source AND features.job_index = alike.job_index
    WHERE jobs.runtime_s > 0 AND jobs.procs > 0
)

SELECT * FROM final ORDER BY job_index
