-- The new table marts.job_wait_causes is empty until the next run of the pipeline.
SELECT 1;
