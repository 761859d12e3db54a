-- Jobs whose times are out of order; the file and line say where they stand.
SELECT file, line, job_id, submit_time, start_time, end_time
FROM core.jobs
WHERE source = $source AND (submit_time > start_time OR start_time > end_time OR runtime_s < 0 OR wait_s < 0)
ORDER BY job_index
