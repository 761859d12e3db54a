-- replay.placed_jobs has a row for every job of a replay; placements that are there lack jobs that never ran. New columns,
-- replay.placements.hops and replay.placements.other_settings, are empty in rows that are there.
-- Three new tables, policies.population, policies.worker_iterations and experiments.topology, are empty.
SELECT 1;
