-- New columns are empty until the next ingest, which reads the logs again: reservation and suspended_s in core.jobs; reservation,
-- assigned_procs and assigned_gpus in raw.pbs_records. core.suspensions is new.
SELECT 1;
