-- Every job with what reports group and add up; the other marts of the real system read this one.
CREATE OR REPLACE VIEW marts.job_facts AS
WITH local AS (
    SELECT jobs.*, sources.cluster_procs, timezone(sources.time_zone, timezone('UTC', jobs.submit_time)) AS local_time
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
)

SELECT
    source AS source, -- name of the source in the catalogue
    job_index AS job_index, -- as in core.jobs
    date_trunc('month', local_time)::DATE AS month, -- of the submission, first day, in the cluster's time zone
    isodow(local_time) AS weekday, -- of the submission, 1 Monday to 7 Sunday, in the cluster's time zone
    hour(local_time) AS hour_of_day, -- of the submission, 0 to 23, in the cluster's time zone
    coalesce(queue, 'unknown') AS queue, -- queue or partition
    coalesce(account, 'unknown') AS account, -- account that pays
    coalesce(user_name, 'unknown') AS user_name, -- user
    CASE
        WHEN procs = 1 THEN 'serial'
        WHEN procs <= cluster_procs / 16 THEN 'small'
        WHEN procs <= cluster_procs / 4 THEN 'medium'
        WHEN procs > cluster_procs / 4 THEN 'large'
        ELSE 'unknown'
    END AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    CASE
        WHEN runtime_s < 600 THEN 'under 10 min'
        WHEN runtime_s < 3600 THEN '10 min to 1 h'
        WHEN runtime_s < 28800 THEN '1 h to 8 h'
        WHEN runtime_s >= 28800 THEN '8 h and more'
        ELSE 'unknown'
    END AS runtime_class, -- by run time
    status AS status, -- completed, failed, cancelled, timeout, out_of_memory, node_failure, preempted, requeued, deadline or unknown
    qos AS qos, -- quality of service (Slurm); NULL where the log has none
    wait_s AS wait_s, -- start minus submission, seconds
    eligible_wait_s AS eligible_wait_s, -- wait in which nothing but resources held the job back, seconds
    runtime_s AS runtime_s, -- run time, seconds
    requested_walltime_s AS requested_walltime_s, -- wall time requested, seconds
    procs * runtime_s / 3600 AS core_hours, -- processors times run time
    gpus * runtime_s / 3600 AS gpu_hours, -- GPUs times run time; NULL where the log does not know
    used_cpu_s / 3600 AS cpu_hours, -- CPU time used; NULL where the log does not know
    CASE WHEN used_cpu_s IS NOT NULL THEN procs * runtime_s / 3600 END AS measured_core_hours, -- core hours of jobs with a known CPU time
    run_count AS run_count, -- times the job was started
    procs * requeued_s / 3600 AS requeued_core_hours, -- core hours of attempts that ended in a requeue
    CASE coalesce(status, 'unknown') WHEN 'unknown' THEN NULL WHEN 'completed' THEN 0 ELSE core_hours END AS lost_core_hours, -- core hours of a job that did not complete, 0 of one that did; NULL where the log does not know how it ended
    CASE WHEN runtime_s > 0 AND requested_walltime_s > 0 THEN procs * requested_walltime_s / 3600 END AS requested_core_hours, -- processors times wall time requested, of jobs that ran and had a request
    CASE WHEN runtime_s > 0 AND requested_walltime_s > 0 THEN procs * greatest(requested_walltime_s - runtime_s, 0) / 3600 END
        AS unused_core_hours, -- of these, those after the job's end: requested and not used, and free for other jobs
    CASE WHEN used_cpu_s IS NOT NULL THEN greatest(core_hours - cpu_hours, 0) END AS idle_core_hours, -- core hours held without using the CPU; NULL where the log does not know
    CASE WHEN used_memory_kb IS NOT NULL THEN requested_memory_kb / 1048576 * runtime_s / 3600 END AS requested_memory_gib_hours, -- memory requested times run time, GiB hours; NULL where the log does not know both memories
    requested_memory_gib_hours * greatest(1 - used_memory_kb / nullif(requested_memory_kb, 0), 0) AS unused_memory_gib_hours, -- of these, those above the memory used
FROM local
