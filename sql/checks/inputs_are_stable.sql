-- Inputs of the champion whose newest values are of another population than those it learned from.
SELECT input, value AS population_stability_index, jobs
FROM predictions.model_drift
WHERE source = $source AND measure = 'psi' AND value > 0.25
ORDER BY value DESC
