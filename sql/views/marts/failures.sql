-- What was lost, by month and queue: jobs that did not complete, by how they ended, and attempts that ended in a requeue.
CREATE OR REPLACE VIEW marts.failures AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    count(*) AS jobs, -- jobs
    count(*) FILTER (status = 'failed') AS failed, -- jobs that ended with an error: exit status, signal
    count(*) FILTER (status = 'cancelled') AS cancelled, -- jobs cancelled by somebody
    count(*) FILTER (status = 'failed') / count(*) AS failed_share, -- share of jobs that failed
    coalesce(sum(core_hours) FILTER (status = 'failed'), 0) AS failed_core_hours, -- core hours of failed jobs
    coalesce(sum(core_hours) FILTER (status = 'cancelled'), 0) AS cancelled_core_hours, -- core hours of cancelled jobs
    count(*) FILTER (run_count > 1 OR status = 'requeued') AS requeued, -- jobs that were started more than once, or ended in a requeue
    coalesce(sum(requeued_core_hours), 0) AS requeued_core_hours, -- core hours of attempts that ended in a requeue
    coalesce(sum(core_hours), 0) AS core_hours, -- core hours of all jobs, requeued attempts left out
    count(*) FILTER (status = 'timeout') AS timeout, -- jobs that ran into their time limit
    count(*) FILTER (status = 'out_of_memory') AS out_of_memory, -- jobs that ran out of memory
    count(*) FILTER (status = 'node_failure') AS node_failure, -- jobs whose node failed
    count(*) FILTER (status = 'preempted') AS preempted, -- jobs that made way for others, and did not run again
    count(*) FILTER (status = 'deadline') AS deadline, -- jobs that could not end before their deadline
    count(*) FILTER (status NOT IN ('completed', 'unknown')) / count(*) AS lost_share, -- share of jobs that did not complete, however they ended
    coalesce(sum(core_hours) FILTER (status = 'timeout'), 0) AS timeout_core_hours, -- core hours of jobs that ran into their time limit
    coalesce(sum(core_hours) FILTER (status NOT IN ('completed', 'unknown')), 0) AS lost_core_hours, -- core hours of jobs that did not complete
FROM marts.job_facts
GROUP BY ALL
