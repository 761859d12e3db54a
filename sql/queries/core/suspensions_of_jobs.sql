-- When jobs of one source were suspended, in seconds of the log's own clock.
SELECT
    jobs.job_index,
    epoch(suspensions.from_time - sources.clock_zero)::BIGINT AS from_s,
    epoch(suspensions.to_time - sources.clock_zero)::BIGINT AS to_s
FROM core.suspensions AS suspensions
INNER JOIN core.jobs AS jobs
    ON
        suspensions.source = jobs.source
        AND suspensions.job_id = jobs.job_id
        AND suspensions.submit_time = jobs.submit_time
        AND suspensions.start_time = jobs.start_time
INNER JOIN core.sources AS sources ON suspensions.source = sources.source
WHERE suspensions.source = $source
ORDER BY jobs.job_index, from_s
