-- Jobs of saved placements that cannot be. They started without nodes or leaves, with more leaves than units, or with a negative wait
-- or cost, or they never ran but have nodes.
SELECT placement, job_index, hop_cost, leaves, wait_s
FROM replay.placed_jobs
WHERE
    source = $source
    AND CASE
        WHEN start_time IS NULL THEN coalesce(wait_s, units, hop_cost, compact_hop_cost, leaves, pods) IS NOT NULL OR nodes IS NOT NULL
        ELSE NOT coalesce(
            wait_s >= 0 AND hop_cost >= 0 AND compact_hop_cost >= 0 AND pods >= 1 AND leaves >= pods AND units >= leaves AND nodes <> '',
            FALSE
        )
    END
