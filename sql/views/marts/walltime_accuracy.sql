-- How well users ask for wall time, by month, queue and user: jobs that ran and had a request.
CREATE OR REPLACE VIEW marts.walltime_accuracy AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    user_name AS user_name, -- user
    count(*) AS jobs, -- jobs
    avg(runtime_s / requested_walltime_s) AS average_used_share, -- mean of run time over request
    median(runtime_s / requested_walltime_s) AS median_used_share, -- median of run time over request
    avg((runtime_s > requested_walltime_s)::INTEGER) AS over_request_share, -- share of jobs that ran longer than they asked
    sum(unused_core_hours) AS unused_core_hours, -- core hours asked for and not used
FROM marts.job_facts
WHERE runtime_s > 0 AND requested_walltime_s > 0
GROUP BY ALL
