    count(*) AS jobs, -- jobs
    coalesce(sum(core_hours), 0) AS core_hours, -- processors times run time, of all jobs, requeued attempts left out
    sum(lost_core_hours) + coalesce(sum(requeued_core_hours), 0) AS lost_core_hours, -- core hours of jobs that did not complete, and of requeued attempts; NULL where the log does not know how jobs ended
    coalesce(sum(lost_core_hours) FILTER (status = 'failed'), 0) AS failed_core_hours, -- of these, of jobs that failed
    coalesce(sum(lost_core_hours) FILTER (status = 'cancelled'), 0) AS cancelled_core_hours, -- of jobs that somebody cancelled
    coalesce(sum(lost_core_hours) FILTER (status = 'timeout'), 0) AS timeout_core_hours, -- of jobs that ran into their limit; what they wrote before may be of use
    coalesce(sum(lost_core_hours) FILTER (status = 'out_of_memory'), 0) AS out_of_memory_core_hours, -- of jobs that ran out of memory
    coalesce(sum(lost_core_hours) FILTER (status NOT IN ('failed', 'cancelled', 'timeout', 'out_of_memory')), 0) AS other_lost_core_hours, -- of jobs that ended otherwise: node failure, preemption, requeue, deadline
    coalesce(sum(requeued_core_hours), 0) AS requeued_core_hours, -- of attempts that ended in a requeue, whose job ran again
    sum(requested_core_hours) AS requested_core_hours, -- processors times wall time requested, of jobs that ran and had a request
    sum(unused_core_hours) AS unused_core_hours, -- of these, those requested and not used, which other jobs could have
    sum(measured_core_hours) AS measured_core_hours, -- core hours of jobs with a known CPU time
    sum(idle_core_hours) AS idle_core_hours, -- of these, those held without using the CPU
    sum(requested_memory_gib_hours) AS requested_memory_gib_hours, -- memory requested times run time, GiB hours, of jobs with a known use of memory
    sum(unused_memory_gib_hours) AS unused_memory_gib_hours, -- of these, those above the memory used
