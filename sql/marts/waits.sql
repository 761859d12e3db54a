-- Waits on the real system by queue, size and run time, as the logs recorded them.
CREATE OR REPLACE VIEW marts.waits AS
SELECT
    jobs.source AS source, -- name of the source in the catalogue
    jobs.queue AS queue, -- queue
    classes.size_class AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    classes.runtime_class AS runtime_class, -- by run time
    count(*) AS jobs, -- jobs with a known wait
    avg(jobs.wait_s) AS average_wait_s, -- mean wait, seconds
    median(jobs.wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(jobs.wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
FROM core.jobs AS jobs
INNER JOIN marts.job_classes AS classes ON jobs.source = classes.source AND jobs.job_index = classes.job_index
WHERE jobs.wait_s IS NOT NULL
GROUP BY ALL
