-- What was lost, by month and queue: jobs that failed or were cancelled, and attempts that ended in a requeue.
CREATE OR REPLACE VIEW marts.failures AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    count(*) AS jobs, -- jobs
    count(*) FILTER (status = 'failed') AS failed, -- jobs that ended with a fault: exit status, signal, limit, node
    count(*) FILTER (status = 'cancelled') AS cancelled, -- jobs cancelled by somebody
    count(*) FILTER (status = 'failed') / count(*) AS failed_share, -- share of jobs that failed
    coalesce(sum(core_hours) FILTER (status = 'failed'), 0) AS failed_core_hours, -- core hours of failed jobs
    coalesce(sum(core_hours) FILTER (status = 'cancelled'), 0) AS cancelled_core_hours, -- core hours of cancelled jobs
    count(*) FILTER (run_count > 1) AS requeued, -- jobs that were started more than once
    coalesce(sum(requeued_core_hours), 0) AS requeued_core_hours, -- core hours of attempts that ended in a requeue
    coalesce(sum(core_hours), 0) AS core_hours, -- core hours of all jobs, requeued attempts left out
FROM marts.job_facts
GROUP BY ALL
