-- Waits on the real system by queue, size and run time, as the logs recorded them.
CREATE OR REPLACE VIEW marts.waits AS
SELECT
    jobs.source AS source, -- name of the source in the catalogue
    jobs.queue AS queue, -- queue
    CASE
        WHEN jobs.procs = 1 THEN 'serial'
        WHEN jobs.procs <= sources.cluster_procs / 16 THEN 'small'
        WHEN jobs.procs <= sources.cluster_procs / 4 THEN 'medium'
        ELSE 'large'
    END AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    CASE
        WHEN jobs.runtime_s < 600 THEN 'under 10 min'
        WHEN jobs.runtime_s < 3600 THEN '10 min to 1 h'
        WHEN jobs.runtime_s < 28800 THEN '1 h to 8 h'
        ELSE '8 h and more'
    END AS runtime_class, -- by run time
    count(*) AS jobs, -- jobs with a known wait
    avg(jobs.wait_s) AS average_wait_s, -- mean wait, seconds
    median(jobs.wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(jobs.wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
FROM core.jobs AS jobs
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE jobs.wait_s IS NOT NULL AND jobs.runtime_s IS NOT NULL AND jobs.procs IS NOT NULL
GROUP BY ALL
