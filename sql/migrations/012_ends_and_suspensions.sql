-- New columns are empty until the next ingest, which reads the logs again. core.jobs has qos, reservation and suspended_s. core.repeats has
-- reason. raw.pbs_records has reservation, assigned_procs and assigned_gpus. raw.slurm_jobs has priority, reason, constraints,
-- reservation, usage_in_total, consumed_energy_j, admin_comment and submit_line. The table core.suspensions is new.
-- The column pseudonym_key of core.sources is NULL until then, and raw.log_files has the keys of its rows.
SELECT 1;
