-- The jobs of two saved placements of one source side by side, those that started in both, in submit order. Jobs are paired by their
-- place in the log.
SELECT
    a.wait_s AS wait_a_s,
    b.wait_s AS wait_b_s,
    a.hop_cost AS hop_cost_a,
    b.hop_cost AS hop_cost_b,
    a.units
FROM replay.placed_jobs AS a
INNER JOIN replay.placed_jobs AS b ON a.source = b.source AND a.job_index = b.job_index
WHERE a.source = $source AND a.placement = $placement_a AND b.placement = $placement_b
ORDER BY a.job_index
