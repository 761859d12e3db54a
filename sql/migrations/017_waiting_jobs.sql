-- raw.slurm_jobs has jobs that waited when the log was printed, from the next ingest on, which reads the logs of Slurm again. They have no
-- end: the column end_s may be NULL now. The search for uses of predictions is a study now, so its table goes.
DROP TABLE IF EXISTS replay.prediction_search;
