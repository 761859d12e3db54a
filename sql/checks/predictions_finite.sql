-- Replayable jobs without exactly one finite prediction of at least one second. A source that nothing was learned from has none.
SELECT jobs.job_index, count(predictions.job_index) AS predictions, min(predictions.predicted_runtime_s) AS smallest
FROM core.jobs AS jobs
LEFT JOIN predictions.runtime_predictions AS predictions
    ON jobs.source = predictions.source AND jobs.job_index = predictions.job_index
WHERE
    jobs.source = $source AND jobs.runtime_s > 0 AND jobs.procs > 0
    AND EXISTS (FROM predictions.champions WHERE source = $source)
GROUP BY jobs.job_index
HAVING
    count(predictions.job_index) <> 1
    OR NOT bool_and(isfinite(predictions.predicted_runtime_s))
    OR min(predictions.predicted_runtime_s) < 1
ORDER BY jobs.job_index
