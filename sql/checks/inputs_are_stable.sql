-- Inputs of the champion whose newest values are of another population than those it learned from: by custom, a population
-- stability index below 0.1 is no change worth a word, one above 0.25 is another population.
SELECT input, value AS population_stability_index, jobs
FROM predictions.model_drift
WHERE source = $source AND measure = 'psi' AND value > 0.25
ORDER BY value DESC
