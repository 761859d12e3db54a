-- New columns are empty until the next ingest, which reads the logs again or computes their jobs again: qos, reservation and suspended_s in
-- core.jobs; reason in core.repeats; reservation, assigned_procs and assigned_gpus in raw.pbs_records; priority, reason, constraints,
-- reservation, usage_in_total, consumed_energy_j, admin_comment and submit_line in raw.slurm_jobs. core.suspensions is new.
-- core.sources.pseudonym_key is NULL until the log is read again; raw.log_files has the keys of its rows until then.
SELECT 1;
