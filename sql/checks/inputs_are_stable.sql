-- Inputs of the champion whose newest values are of another population than those it learned from. By custom, a population stability
-- index above 0.25 is another population. Few jobs, and bursts of them, reach that by themselves. So the index must also be
-- twice the largest of past stretches of as many jobs. Where there were too few jobs before, nobody can say.
SELECT input, value AS population_stability_index, usual AS largest_before, jobs
FROM predictions.model_drift
WHERE source = $source AND measure = 'psi' AND usual IS NOT NULL AND value > greatest(0.25, 2 * usual)
ORDER BY value DESC
