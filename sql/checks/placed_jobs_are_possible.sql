-- Jobs of saved placements that cannot be: without nodes or leaves, with more leaves than units, or with a negative wait or cost.
SELECT placement, job_index, hop_cost, leaves, wait_s
FROM replay.placed_jobs
WHERE source = $source AND (wait_s < 0 OR hop_cost < 0 OR leaves < 1 OR pods < 1 OR pods > leaves OR units < leaves OR nodes = '')
