-- Accepted end (E) records of PBS accounting logs, and requeue (R) records: attempts that did not finish their job.
CREATE TABLE IF NOT EXISTS raw.pbs_records (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    record_type VARCHAR NOT NULL, -- E or R
    job_id VARCHAR NOT NULL, -- as logged, with array index and server
    user_name VARCHAR, -- user
    group_name VARCHAR, -- group
    account VARCHAR, -- account
    project VARCHAR, -- project
    queue VARCHAR, -- queue
    job_name VARCHAR, -- jobname
    ctime_s BIGINT NOT NULL, -- creation (submission), Unix seconds
    qtime_s BIGINT, -- entry into the queue, Unix seconds
    etime_s BIGINT, -- time the job became eligible, Unix seconds
    start_s BIGINT NOT NULL, -- start, Unix seconds
    end_s BIGINT NOT NULL, -- end, Unix seconds
    exec_host VARCHAR, -- hosts and slots, as logged
    procs BIGINT NOT NULL, -- allocated processors
    requested_procs BIGINT, -- requested processors
    requested_walltime_s BIGINT, -- Resource_List.walltime, seconds
    used_walltime_s BIGINT, -- resources_used.walltime, seconds
    used_cpu_s BIGINT, -- resources_used.cput, seconds over all processors
    exit_status BIGINT, -- Exit_status
    eligible_wait_s BIGINT, -- eligible_time, seconds in the queue in which nothing but resources held the job back
    gpus BIGINT, -- Resource_List.ngpus
    nodes BIGINT, -- Resource_List.nodect, or Torque's unique_node_count
    run_count BIGINT, -- run_count, or Torque's start_count
    requested_memory_kb BIGINT, -- Resource_List.mem, kilobytes
    used_memory_kb BIGINT, -- resources_used.mem, kilobytes
);
