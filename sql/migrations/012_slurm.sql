-- New columns are empty until the next ingest: qos in core.jobs, whose jobs are computed again, and priority, reason, constraints,
-- reservation, usage_in_total, consumed_energy_j, admin_comment and submit_line in raw.slurm_jobs, whose logs are read again.
SELECT 1;
