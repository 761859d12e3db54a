-- Everything that is predicted of the run times of one source.
SELECT * EXCLUDE (source, predicted_runtime_s)
FROM predictions.runtime_predictions
WHERE source = $source
ORDER BY job_index
