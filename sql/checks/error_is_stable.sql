-- A champion whose mean error on the newest jobs is more than twice that on the jobs it was tested on.
SELECT version, value AS error_over_test_error, jobs
FROM predictions.model_drift
WHERE source = $source AND measure = 'error' AND value > 2
