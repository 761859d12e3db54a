-- raw.slurm_jobs has jobs that waited when the log was printed, without an end, from the next ingest on, which reads the logs of Slurm
-- again. The view core.waiting_jobs is new.
ALTER TABLE IF EXISTS raw.slurm_jobs ALTER COLUMN end_s DROP NOT NULL;
