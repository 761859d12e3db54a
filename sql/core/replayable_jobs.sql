-- Jobs of one source that can be replayed (docs/semantics.md), in replay order, times in the log's own clock.
SELECT
    jobs.job_index,
    jobs.job_id,
    epoch(jobs.submit_time - sources.clock_zero)::BIGINT AS submit_s,
    jobs.runtime_s,
    jobs.procs,
    coalesce(jobs.requested_walltime_s, -1) AS requested_walltime_s,
    predictions.predicted_runtime_s
FROM core.jobs AS jobs
INNER JOIN core.sources AS sources ON jobs.source = sources.source
LEFT JOIN predictions.runtime_predictions AS predictions
    ON jobs.source = predictions.source AND jobs.job_index = predictions.job_index
WHERE jobs.source = $source AND jobs.runtime_s > 0 AND jobs.procs > 0
ORDER BY jobs.job_index
