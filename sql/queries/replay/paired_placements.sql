-- The jobs of two saved placements of one source side by side, those that started in both, in submit order; the placements must have
-- the same trace_sha256. Jobs are paired by their place in the replay, so that a log that was read again in between does no harm.
WITH placed AS (
    SELECT placement, row_number() OVER (PARTITION BY placement ORDER BY job_index) AS place, start_time, wait_s, hop_cost
    FROM replay.placed_jobs
    WHERE source = $source AND placement IN ($placement_a, $placement_b)
)

SELECT
    a.wait_s AS wait_a_s,
    b.wait_s AS wait_b_s,
    a.hop_cost AS hop_cost_a,
    b.hop_cost AS hop_cost_b
FROM placed AS a
INNER JOIN placed AS b ON a.place = b.place
WHERE a.placement = $placement_a AND b.placement = $placement_b AND a.start_time IS NOT NULL AND b.start_time IS NOT NULL
ORDER BY a.place
