-- The canonical jobs: one row per accepted log record, the same columns whatever the format.
CREATE TABLE IF NOT EXISTS core.jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- order by submit time, then by file and line; from 0, unique within the source
    job_id VARCHAR NOT NULL, -- identifier in the log; may repeat when a system reuses ids
    submit_time TIMESTAMP NOT NULL, -- submission, UTC
    eligible_time TIMESTAMP, -- when the job could have started, UTC
    start_time TIMESTAMP, -- start on the real system, UTC; NULL where the log does not know, and for a job that left the queue without a start
    end_time TIMESTAMP, -- end on the real system, UTC, or when a waiting job left the queue; NULL where the log does not know
    wait_s BIGINT, -- start minus submission, seconds; of the last attempt, where a job was requeued
    eligible_wait_s BIGINT, -- wait in which nothing but resources held the job back, seconds: as the system counts it, else from eligible_time
    runtime_s BIGINT, -- end minus start, without the time suspended, seconds
    procs BIGINT, -- processors allocated, or requested where the log has no allocation
    requested_procs BIGINT, -- processors requested
    requested_walltime_s BIGINT, -- wall time requested, seconds
    gpus BIGINT, -- GPUs; NULL where the log does not know
    nodes BIGINT, -- nodes; NULL where the log does not know
    requested_memory_kb BIGINT, -- memory requested for the whole job, kilobytes
    used_memory_kb BIGINT, -- memory used, kilobytes: of the whole job (SWF, PBS), of its largest step (Slurm)
    used_cpu_s DOUBLE, -- CPU time over all processors, seconds
    user_name VARCHAR, -- user, by name or number
    group_name VARCHAR, -- group, by name or number
    account VARCHAR, -- account that pays
    queue VARCHAR, -- queue or partition, by name or number
    executable VARCHAR, -- application number (SWF) or job name (PBS, Slurm)
    status VARCHAR, -- completed, failed, cancelled, timeout, out_of_memory, node_failure, preempted, requeued, deadline or unknown
    run_count BIGINT, -- times the job was started; NULL where the log does not know
    requeued_s BIGINT NOT NULL, -- run time of attempts that ended in a requeue, seconds (core.requeues); not in runtime_s
    file VARCHAR NOT NULL, -- log file that the job comes from
    line BIGINT NOT NULL, -- line number in that file, from 1
    qos VARCHAR, -- quality of service (Slurm); NULL where the log has none
    reservation VARCHAR, -- reservation that the job was submitted to; NULL for none
    suspended_s BIGINT, -- time between start and end in which the job was suspended and held no processors, seconds
    requested_nodes BIGINT, -- nodes requested; NULL where the log does not know
    gpu_types VARCHAR, -- GPUs by type, such as a100=2,v100=1; NULL where the log names no type
    memory_per VARCHAR, -- whether memory was asked for by job, node, cpu, gpu or chunk; NULL where the log does not know
    features VARCHAR, -- features of nodes that the job asked for, as logged
    is_exclusive BOOLEAN, -- whether it asked for its nodes alone; NULL where the log does not know
    reason VARCHAR, -- why the job waited last, as the scheduler says (Slurm)
    priority BIGINT, -- priority when the log was written (Slurm)
);
