-- New columns are empty until the next ingest, which reads the logs of Slurm again: raw.slurm_jobs has asked_gpus, and core.jobs has
-- requested_gpu_types, since AllocTRES may name the type of GPUs of a job that had asked for any.
SELECT 1;
