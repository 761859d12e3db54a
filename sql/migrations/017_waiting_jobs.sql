-- raw.slurm_jobs has jobs that waited when the log was printed, from the next ingest on, which reads the logs of Slurm again. They have no
-- end: the column end_s may be NULL now.
SELECT 1;
