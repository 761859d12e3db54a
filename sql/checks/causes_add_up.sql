-- Started jobs whose causes do not add up to their wait, where the log's own starts have been explained.
WITH explained AS (
    SELECT job_index, sum(waited_s) AS explained_s
    FROM marts.job_wait_causes
    WHERE source = $source AND starts = 'log'
    GROUP BY job_index
)

SELECT jobs.job_index, jobs.job_id, jobs.wait_s, coalesce(explained.explained_s, 0)::BIGINT AS explained_s
FROM core.jobs AS jobs
LEFT JOIN explained ON jobs.job_index = explained.job_index
WHERE
    jobs.source = $source
    AND jobs.wait_s <> coalesce(explained.explained_s, 0)
    AND EXISTS (FROM explained)
ORDER BY jobs.job_index
