-- Jobs whose features count other than the jobs of the same user that had ended by their submission, or that lack
-- features; on the 2,000 jobs with the smallest hash, since the plain count is quadratic.
WITH sample AS (
    SELECT *
    FROM core.jobs
    WHERE source = $source AND user_name IS NOT NULL
    ORDER BY hash(job_index)
    LIMIT 2000
),

counted AS (
    SELECT sample.job_index, count(earlier.job_index) AS ended
    FROM sample
    LEFT JOIN core.jobs AS earlier
        ON
            sample.source = earlier.source
            AND sample.user_name = earlier.user_name
            AND earlier.end_time <= sample.submit_time
    GROUP BY sample.job_index
)

SELECT counted.job_index, counted.ended, features.user_jobs_ended
FROM counted
LEFT JOIN features.job_features AS features
    ON counted.job_index = features.job_index AND features.source = $source
WHERE features.user_jobs_ended IS DISTINCT FROM counted.ended
ORDER BY counted.job_index
