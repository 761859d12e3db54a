-- [predicted_runtimes]
-- Predicted run times of all jobs of one source that have one, beside the true ones, in order of submission.
SELECT
    jobs.job_index,
    jobs.job_id,
    jobs.submit_time,
    jobs.runtime_s,
    jobs.requested_walltime_s,
    predictions.* EXCLUDE (source, job_index, predictor, version),
    predictions.predictor,
    predictions.version
FROM predictions.runtime_predictions AS predictions
INNER JOIN core.jobs AS jobs ON predictions.source = jobs.source AND predictions.job_index = jobs.job_index
WHERE predictions.source = $source
ORDER BY jobs.job_index
