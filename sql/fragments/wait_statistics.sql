    count(*) AS jobs, -- jobs with a known wait
    avg(wait_s) AS average_wait_s, -- mean wait from submission, seconds
    median(wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
