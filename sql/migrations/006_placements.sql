-- Two new tables, replay.placements and replay.placed_jobs, are empty. Saving a replay with --topology fills them.
SELECT 1;
