-- Records of PBS accounting logs. Finished jobs are E. All others have those of the columns that they tell: queued (Q), started (S),
-- requeued (R), deleted (D), aborted (A), the end of an array as a whole (E[]) ...
CREATE TABLE IF NOT EXISTS raw.pbs_records (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    record_type VARCHAR NOT NULL, -- a letter: E for the end of a job; E[] for the end of an array as a whole
    logged_s BIGINT, -- stamp of the record, the cluster's local time counted as if it were UTC; NULL for a time that the calendar does not have
    job_id VARCHAR NOT NULL, -- as logged, with array index and server
    user_name VARCHAR, -- user
    group_name VARCHAR, -- group
    account VARCHAR, -- account
    project VARCHAR, -- project
    queue VARCHAR, -- queue
    job_name VARCHAR, -- jobname
    ctime_s BIGINT, -- creation (submission), Unix seconds
    qtime_s BIGINT, -- entry into the queue, Unix seconds
    etime_s BIGINT, -- time the job became eligible, Unix seconds; 0 while it is not
    start_s BIGINT, -- start, Unix seconds
    end_s BIGINT, -- end, Unix seconds
    exec_host VARCHAR, -- hosts and slots, as logged
    procs BIGINT, -- allocated processors
    requested_procs BIGINT, -- requested processors
    requested_walltime_s BIGINT, -- Resource_List.walltime, seconds
    used_walltime_s BIGINT, -- resources_used.walltime, seconds
    used_cpu_s BIGINT, -- resources_used.cput, seconds over all processors
    exit_status BIGINT, -- Exit_status
    eligible_wait_s BIGINT, -- eligible_time, seconds in the queue in which nothing but resources held the job back
    gpus BIGINT, -- ngpus, gpus or gpu of Resource_List, else those of exec_vnode, of select or of Torque's nodes
    nodes BIGINT, -- different hosts of exec_host, else Resource_List.nodect, or Torque's unique_node_count; of a Cray job mppwidth by mppnppn
    run_count BIGINT, -- run_count, or Torque's start_count
    requested_memory_kb BIGINT, -- Resource_List.mem, kilobytes
    used_memory_kb BIGINT, -- resources_used.mem, kilobytes
    requestor VARCHAR, -- who asked for a deletion and the like, without the host
    message VARCHAR, -- text of a record without key=value pairs
    reservation VARCHAR, -- resvID, the reservation that the job runs in
    assigned_procs BIGINT, -- resource_assigned.ncpus, processors that a start takes of the nodes: all of them where the job has them alone
    assigned_gpus BIGINT, -- resource_assigned.ngpus, likewise
    exec_vnode VARCHAR, -- virtual nodes and what the job holds of each, as logged
    selected_chunks VARCHAR, -- Resource_List.select
    torque_nodes VARCHAR, -- Resource_List.nodes, of Torque
    place VARCHAR, -- Resource_List.place
);
