    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds: start minus submission
    median_wait_s DOUBLE NOT NULL, -- median wait, seconds
    p90_wait_s DOUBLE NOT NULL, -- 90th percentile of the wait, seconds
    p95_wait_s DOUBLE NOT NULL, -- 95th percentile of the wait, seconds
    p99_wait_s DOUBLE NOT NULL, -- 99th percentile of the wait, seconds
    max_wait_s DOUBLE NOT NULL, -- largest wait, seconds
    average_turnaround_s DOUBLE NOT NULL, -- mean turnaround, seconds: wait plus run time
    median_turnaround_s DOUBLE NOT NULL, -- median turnaround, seconds
    p90_turnaround_s DOUBLE NOT NULL, -- 90th percentile of the turnaround, seconds
    p95_turnaround_s DOUBLE NOT NULL, -- 95th percentile of the turnaround, seconds
    p99_turnaround_s DOUBLE NOT NULL, -- 99th percentile of the turnaround, seconds
    max_turnaround_s DOUBLE NOT NULL, -- largest turnaround, seconds
    average_slowdown DOUBLE NOT NULL, -- mean slowdown: turnaround over run time of at least 1 s
    median_slowdown DOUBLE NOT NULL, -- median slowdown
    p90_slowdown DOUBLE NOT NULL, -- 90th percentile of the slowdown
    p95_slowdown DOUBLE NOT NULL, -- 95th percentile of the slowdown
    p99_slowdown DOUBLE NOT NULL, -- 99th percentile of the slowdown
    max_slowdown DOUBLE NOT NULL, -- largest slowdown
    average_bounded_slowdown DOUBLE NOT NULL, -- mean bounded slowdown: turnaround over run time of at least 10 s, at least 1
    median_bounded_slowdown DOUBLE NOT NULL, -- median bounded slowdown
    p90_bounded_slowdown DOUBLE NOT NULL, -- 90th percentile of the bounded slowdown
    p95_bounded_slowdown DOUBLE NOT NULL, -- 95th percentile of the bounded slowdown
    p99_bounded_slowdown DOUBLE NOT NULL, -- 99th percentile of the bounded slowdown
    max_bounded_slowdown DOUBLE NOT NULL, -- largest bounded slowdown
    average_per_processor_bounded_slowdown DOUBLE NOT NULL, -- mean of turnaround over processors times run time of at least 10 s, at least 1
    median_per_processor_bounded_slowdown DOUBLE NOT NULL, -- median bounded slowdown per processor
    p90_per_processor_bounded_slowdown DOUBLE NOT NULL, -- 90th percentile of the bounded slowdown per processor
    p95_per_processor_bounded_slowdown DOUBLE NOT NULL, -- 95th percentile of the bounded slowdown per processor
    p99_per_processor_bounded_slowdown DOUBLE NOT NULL, -- 99th percentile of the bounded slowdown per processor
    max_per_processor_bounded_slowdown DOUBLE NOT NULL, -- largest bounded slowdown per processor
    area_weighted_wait_s DOUBLE NOT NULL, -- mean wait weighted by processors times run time, seconds
    area_weighted_turnaround_s DOUBLE NOT NULL, -- mean turnaround weighted by processors times run time, seconds
    utilisation DOUBLE NOT NULL, -- processor time held over processor time there, first submission to last completion
    loss_of_capacity DOUBLE NOT NULL, -- share of the processor time there that was free while waiting jobs asked for it
    average_queue_length DOUBLE NOT NULL, -- jobs waiting, mean over time
    average_job_load_proc_s DOUBLE NOT NULL, -- processors times run time of the jobs waiting, mean over time, processor-seconds
    throughput_jobs_per_hour DOUBLE NOT NULL, -- jobs ended per hour
    makespan_s DOUBLE NOT NULL, -- last completion minus first submission, seconds
    backfilled_share DOUBLE NOT NULL, -- share of jobs started past a blocked head
    waits_over_24_h_share DOUBLE NOT NULL, -- share of jobs that waited longer than 24 hours
    average_user_wait_s DOUBLE NOT NULL, -- mean over users of the user's mean wait, seconds
    max_user_wait_s DOUBLE NOT NULL, -- largest of the users' mean waits, seconds
    average_user_bounded_slowdown DOUBLE NOT NULL, -- mean over users of the user's mean bounded slowdown
    max_user_bounded_slowdown DOUBLE NOT NULL, -- largest of the users' mean bounded slowdowns
    jain_index_user_bounded_slowdown DOUBLE NOT NULL, -- Jain's fairness index of the users' mean bounded slowdowns, 1 is equal
    jobs_cancelled DOUBLE NOT NULL, -- jobs cancelled while they waited; they are in no other metric
