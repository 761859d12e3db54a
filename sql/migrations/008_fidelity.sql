-- Two new tables, replay.fidelity and replay.configurations, are empty.
SELECT 1;
