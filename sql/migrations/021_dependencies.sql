-- New columns are empty until the next ingest, which reads the logs again: core.jobs, raw.slurm_jobs and raw.pbs_records have the jobs that
-- a job waits for (dependency).
SELECT 1;
