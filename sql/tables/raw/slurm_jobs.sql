-- Finished jobs of Slurm accounting logs (sacct -P), and attempts of jobs that were requeued; job steps are folded into their job.
CREATE TABLE IF NOT EXISTS raw.slurm_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    job_id VARCHAR NOT NULL, -- JobID, with the array index
    raw_job_id VARCHAR NOT NULL, -- JobIDRaw, the id of the array task itself; JobID where the log has none
    array_tasks BIGINT NOT NULL, -- array tasks that the line represents, such as 3 for `12_[1-3]`, which never started
    cluster VARCHAR, -- Cluster
    partition VARCHAR, -- Partition
    qos VARCHAR, -- QOS
    account VARCHAR, -- Account
    group_name VARCHAR, -- Group
    user_name VARCHAR, -- User
    job_name VARCHAR, -- JobName
    submit_s BIGINT NOT NULL, -- Submit, Unix seconds
    eligible_s BIGINT, -- Eligible, Unix seconds
    start_s BIGINT, -- Start, Unix seconds; NULL for a job that never started, whatever its state
    end_s BIGINT NOT NULL, -- End, Unix seconds
    local_times BOOLEAN, -- whether the log has local times, and no Unix seconds; NULL where the reader did not note it
    elapsed_s BIGINT, -- Elapsed, seconds, without time suspended
    suspended_s BIGINT, -- Suspended, seconds
    time_limit_s BIGINT, -- Timelimit, seconds; NULL for UNLIMITED and Partition_Limit
    state VARCHAR, -- State, its first word
    exit_code BIGINT, -- ExitCode, before the colon
    signal BIGINT, -- ExitCode, after the colon
    nodes BIGINT, -- nodes
    procs BIGINT NOT NULL, -- processors allocated, or requested where the job never started
    requested_procs BIGINT, -- processors requested
    gpus BIGINT, -- GPUs allocated (gres/gpu); NULL where the log has no trackable resources
    requested_memory_kb BIGINT, -- ReqMem of the whole job, kilobytes; NULL for 0, which is all memory of the nodes, or is not tracked
    used_memory_kb BIGINT, -- largest MaxRSS of any step, kilobytes; NULL without steps
    used_cpu_s DOUBLE, -- TotalCPU, seconds
    node_list VARCHAR, -- NodeList, as logged
    priority BIGINT, -- Priority when the log was written
    reason VARCHAR, -- Reason, why the job waited last
    constraints VARCHAR, -- Constraints, features of nodes that the job asked for
    reservation VARCHAR, -- Reservation
    usage_in_total VARCHAR, -- TRESUsageInTot, summed over the steps: cpu in seconds, sizes in K
    consumed_energy_j BIGINT, -- ConsumedEnergyRaw, joules
    admin_comment VARCHAR, -- AdminComment
    submit_line VARCHAR, -- SubmitLine
    requested_tres VARCHAR, -- ReqTRES, as logged
    allocated_tres VARCHAR, -- AllocTRES, as logged
    memory_per VARCHAR, -- whether memory was asked for by cpu, gpu or node; NULL where neither ReqMem nor SubmitLine says so
);
