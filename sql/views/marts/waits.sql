-- Waits on the real system by queue, size and run time, as the logs recorded them.
CREATE OR REPLACE VIEW marts.waits AS
SELECT
    source AS source, -- name of the source in the catalogue
    queue AS queue, -- queue or partition
    size_class AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    runtime_class AS runtime_class, -- by run time
    count(*) AS jobs, -- jobs with a known wait
    avg(wait_s) AS average_wait_s, -- mean wait, seconds
    median(wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
{{ of_known_waits }}
