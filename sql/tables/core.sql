-- [capacity]
-- Use of the real system by local day: what was in use at most and on average. The observed capacity over time.
CREATE TABLE IF NOT EXISTS core.capacity (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    day DATE NOT NULL, -- in the cluster's time zone
    peak_procs BIGINT NOT NULL, -- most processors in use at one time
    mean_procs DOUBLE NOT NULL, -- processors in use, mean over the day
    peak_gpus BIGINT NOT NULL, -- most GPUs in use at one time, of jobs that tell
    peak_jobs BIGINT NOT NULL, -- most jobs running at one time
);

-- [changed_files]
-- Files whose rows are newer than core.jobs: what core.jobs still has to take in. Empty when all is up to date.
CREATE TABLE IF NOT EXISTS core.changed_files (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file, empty for all
    from_s BIGINT NOT NULL, -- jobs submitted from this second of the log's clock on may have changed
);

-- [clusters]
-- What each source's cluster has, and where that is known from: catalogue, command line, header, or the jobs (docs/reference/semantics.md).
CREATE TABLE IF NOT EXISTS core.clusters (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    procs BIGINT NOT NULL, -- processors
    procs_from VARCHAR NOT NULL, -- catalogue, command line, header, cluster file (CPUs of the described nodes), or peak, the most in use at one time
    nodes BIGINT, -- nodes; NULL where nothing tells
    nodes_from VARCHAR, -- catalogue, or jobs: processors by processors per node
    procs_per_node BIGINT, -- processors by nodes where the catalogue gives nodes, else the commonest number of jobs on several nodes
    gpus BIGINT, -- GPUs; NULL where nothing tells
    gpus_from VARCHAR, -- catalogue, or peak: the most in use at one time
    node_memory_kb BIGINT, -- memory of a node, kilobytes; NULL where nothing tells
    node_memory_from VARCHAR, -- catalogue, or jobs: the most that a job which ran asked for on a node
);

-- [job_nodes]
-- Which nodes each job held: one row a job and node, of the last attempt. Host lists of the log, expanded.
CREATE TABLE IF NOT EXISTS core.job_nodes (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- of core.jobs
    submit_time TIMESTAMP NOT NULL, -- submission of the job, UTC
    node_name VARCHAR NOT NULL, -- node; for PBS the virtual node where the log tells it, else the host
    procs BIGINT, -- processors held there; NULL where the log tells only their sum over several nodes
    gpus BIGINT, -- GPUs held there; NULL where the log does not know
    memory_kb BIGINT, -- memory held there, kilobytes; NULL where the log does not know
);

-- [jobs]
-- The canonical jobs: one row per accepted log record, the same columns whatever the format.
CREATE TABLE IF NOT EXISTS core.jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- order by submit time, then by file and line; from 0, unique within the source
    job_id VARCHAR NOT NULL, -- identifier in the log; may repeat when a system reuses ids
    submit_time TIMESTAMP NOT NULL, -- submission, UTC
    eligible_time TIMESTAMP, -- when the job could have started, UTC
    start_time TIMESTAMP, -- start on the real system, UTC; NULL where the log does not know, and for a job that left the queue without a start
    end_time TIMESTAMP, -- end on the real system, UTC, or when a waiting job left the queue; NULL where the log does not know
    wait_s BIGINT, -- start minus submission of the last attempt, seconds; of a job that left the queue without a start, end minus submission
    eligible_wait_s BIGINT, -- wait in which nothing but resources held the job back, seconds: as the system counts it, else from eligible_time
    runtime_s BIGINT, -- end minus start, without the time suspended, seconds
    procs BIGINT, -- processors allocated, or requested where the log has no allocation
    requested_procs BIGINT, -- processors requested
    requested_walltime_s BIGINT, -- wall time requested, seconds
    gpus BIGINT, -- GPUs; NULL where the log does not know
    nodes BIGINT, -- nodes; NULL where the log does not know
    requested_memory_kb BIGINT, -- memory requested for the whole job, kilobytes
    used_memory_kb BIGINT, -- memory used, kilobytes: of the whole job (SWF, PBS), of all tasks of its largest step (Slurm; of one task where the log says no more)
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
    gpu_types VARCHAR, -- GPUs by type that the job had, such as a100=2,v100=1, or asked for; NULL where the log names no type
    requested_gpu_types VARCHAR, -- GPUs by type that the job asked for; NULL where it asked for no type. Where the log has AllocTRES alone, those of it
    memory_per VARCHAR, -- whether memory was asked for by job, node, cpu, gpu or chunk; NULL where the log does not know
    features VARCHAR, -- features of nodes that the job asked for, as logged
    is_exclusive BOOLEAN, -- whether it asked for its nodes alone; NULL where the log does not know
    reason VARCHAR, -- why the job waited last, as the scheduler says (Slurm)
    priority BIGINT, -- priority when the log was written (Slurm)
    dependency VARCHAR, -- jobs that it waits for, as asked, such as afterok:12,afterany:13; NULL for none and where the log does not say
);

-- [limits]
-- Limits of the clusters that sources name, one a row, whoever sets them.
CREATE TABLE IF NOT EXISTS core.limits (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    cluster VARCHAR NOT NULL, -- name of the cluster
    valid_from TIMESTAMP, -- when this configuration begins to hold, UTC; NULL for always
    owner VARCHAR NOT NULL, -- where it is set: cluster, partition, qos, account or user
    owner_name VARCHAR NOT NULL, -- name of the owner; account/user for an association
    counts VARCHAR NOT NULL, -- what is counted: running, submitted, job, node, outstanding, used or waiting_eligible
    each VARCHAR NOT NULL, -- whose jobs are counted together: all, user, account, group, project or job
    who VARCHAR, -- the one user, group or account that it holds for; NULL for each
    resource VARCHAR NOT NULL, -- jobs, nodes, cpu, mem (MiB), gpu, time (seconds), or a resource by the scheduler's name
    bound BIGINT NOT NULL, -- at most so much, in resource-seconds for outstanding and used
    is_least BOOLEAN NOT NULL, -- whether the bound is a least amount instead
    is_soft BOOLEAN NOT NULL, -- whether it holds only while others wait
    origin VARCHAR NOT NULL, -- file, line and key that it came from
);

-- [nodes]
-- Nodes of the clusters that sources name, as their schedulers' configurations describe them.
CREATE TABLE IF NOT EXISTS core.nodes (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    cluster VARCHAR NOT NULL, -- name of the cluster
    valid_from TIMESTAMP, -- when this configuration begins to hold, UTC; NULL for always
    position BIGINT NOT NULL, -- place in the scheduler's order, from 0, which decides ties
    node_name VARCHAR NOT NULL, -- node
    cpus BIGINT NOT NULL, -- CPUs that the scheduler counts
    cores BIGINT NOT NULL, -- cores
    sockets BIGINT, -- sockets; NULL where the configuration does not say
    memory_mib BIGINT, -- memory that jobs may have, MiB; NULL where memory is not counted
    gpus BIGINT NOT NULL, -- GPUs
    gpu_types VARCHAR, -- GPUs by type, such as a100=2,v100=1; NULL where no type is named
    features VARCHAR, -- words that a job may require, with commas between; NULL for none
    weight BIGINT NOT NULL, -- the scheduler takes the lowest first
);

-- [partitions]
-- Partitions or queues of the clusters that sources name. They may share nodes.
CREATE TABLE IF NOT EXISTS core.partitions (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    cluster VARCHAR NOT NULL, -- name of the cluster
    valid_from TIMESTAMP, -- when this configuration begins to hold, UTC; NULL for always
    partition VARCHAR NOT NULL, -- name of the partition or queue
    node_list VARCHAR NOT NULL, -- its nodes, as a list of host names
    nodes BIGINT NOT NULL, -- how many nodes
    cpus BIGINT NOT NULL, -- CPUs of its nodes
    gpus BIGINT NOT NULL, -- GPUs of its nodes
    is_default BOOLEAN NOT NULL, -- whether jobs that name none are here
    state VARCHAR NOT NULL, -- up, down (jobs queue), drain (queued jobs run) or inactive
    max_time_s BIGINT, -- longest time a job may request, seconds; NULL for no limit
    default_time_s BIGINT, -- time of a job that requests none, seconds; NULL for no default
    tier BIGINT NOT NULL, -- the scheduler looks at higher tiers first
    factor BIGINT NOT NULL, -- part of a job's priority
    qos VARCHAR, -- quality of service of its own, whose limits hold for its jobs; NULL for none
    oversubscribe VARCHAR NOT NULL, -- no, exclusive (jobs hold whole nodes), yes or force
    allow_accounts VARCHAR, -- accounts that may use it, with commas between; NULL for all
    allow_qos VARCHAR, -- qualities of service that may use it, with commas between; NULL for all
);

-- [repeats]
-- Accepted records that are no job of their own: duplicates in another file, records that a later one replaces, parts of a job's run.
CREATE TABLE IF NOT EXISTS core.repeats (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_id VARCHAR NOT NULL, -- identifier in the log
    submit_s BIGINT NOT NULL, -- submission, seconds of the log's clock
    start_s BIGINT, -- start, seconds of the log's clock
    end_s BIGINT, -- end, seconds of the log's clock
    file VARCHAR NOT NULL, -- log file
    line BIGINT NOT NULL, -- line number in that file, from 1
    reason VARCHAR, -- duplicate (of a line in an earlier file) or partial execution, of SWF; NULL where a later record replaces the line
);

-- [requeues]
-- Attempts of jobs that ended in a requeue, one row each; the last attempt of a job is in core.jobs.
CREATE TABLE IF NOT EXISTS core.requeues (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT, -- as in core.jobs; NULL for a job that is not over in this log
    job_id VARCHAR NOT NULL, -- identifier in the log
    attempt BIGINT NOT NULL, -- number of the attempt, from 1
    submit_time TIMESTAMP NOT NULL, -- submission of the job, UTC
    start_time TIMESTAMP NOT NULL, -- start, UTC
    end_time TIMESTAMP NOT NULL, -- time of the requeue, UTC
    runtime_s BIGINT NOT NULL, -- end minus start, seconds
    procs BIGINT NOT NULL, -- processors held
    used_cpu_s DOUBLE, -- CPU time over all processors, seconds
    exit_status BIGINT, -- as logged
    file VARCHAR NOT NULL, -- log file
    line BIGINT NOT NULL, -- line number in that file, from 1
);

-- [reservations]
-- Advance reservations of the clusters that sources name.
CREATE TABLE IF NOT EXISTS core.reservations (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    cluster VARCHAR NOT NULL, -- name of the cluster
    valid_from TIMESTAMP, -- when this configuration begins to hold, UTC; NULL for always
    reservation VARCHAR NOT NULL, -- name of the reservation
    begin_time TIMESTAMP NOT NULL, -- begin, UTC; the first one where it repeats
    end_time TIMESTAMP NOT NULL, -- end, UTC
    repeats VARCHAR, -- how it repeats: daily, weekly, weekday, weekend, or a rule of RFC 5545; NULL for once
    node_list VARCHAR, -- its nodes, as a list of host names; NULL for all, or where it counts CPUs
    cpus BIGINT, -- its CPUs, where it counts CPUs; NULL where it has nodes
    users VARCHAR, -- users that may use it, with commas between; NULL for none named
    accounts VARCHAR, -- accounts that may use it, with commas between; NULL for none named
    flags VARCHAR, -- flags as the scheduler spells them, with commas between; NULL for none
);

-- [schema_version]
-- Which version of the tables this warehouse has; one row.
CREATE TABLE IF NOT EXISTS core.schema_version (
    version BIGINT NOT NULL, -- number of the last file of sql/migrations that was applied; 1 for the first release
    fingerprint VARCHAR NOT NULL, -- hash over all statements that create a table or a view
);

-- [sources]
-- One row per materialized source: its cluster and its clock.
CREATE TABLE IF NOT EXISTS core.sources (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    format VARCHAR NOT NULL, -- swf, pbs or slurm
    description VARCHAR, -- from the catalogue
    cluster_procs BIGINT, -- processors of the cluster; NULL until the jobs are written, where they have to tell
    cluster_procs_from VARCHAR NOT NULL, -- where that number comes from: catalogue, header, cluster file, or peak of processors in use
    cluster_nodes BIGINT, -- nodes, where the catalogue says; see core.clusters
    cluster_gpus BIGINT, -- GPUs, where the catalogue says
    node_memory_kb BIGINT, -- memory of a node in kilobytes, where the catalogue says
    time_zone VARCHAR NOT NULL, -- IANA name of the cluster's time zone
    time_zone_from VARCHAR, -- catalogue, header or assumed, by who gave that name; NULL until the log is read again
    clock_zero TIMESTAMP NOT NULL, -- UTC time of second 0 of the log's own clock (1970 for Unix time, and where an SWF header names none)
    origin_s BIGINT NOT NULL, -- second of the log's clock that policies count absolute time from
    pseudonym_key VARCHAR, -- SHA-256 of the key that its names were last replaced with; NULL where names stay
);

-- [suspensions]
-- Times in which a job was suspended and held no processors, where the log tells them (PBS); the sum is suspended_s.
CREATE TABLE IF NOT EXISTS core.suspensions (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_id VARCHAR NOT NULL, -- identifier in the log
    submit_time TIMESTAMP NOT NULL, -- submission of the job, UTC
    start_time TIMESTAMP NOT NULL, -- start of the job, or of an attempt (core.requeues), UTC
    from_time TIMESTAMP NOT NULL, -- when it was suspended, UTC
    to_time TIMESTAMP NOT NULL, -- when it was resumed, or ended, UTC
);

-- [vasp_jobs]
-- Which accounting job a VASP launch was part of, where that can be told.
CREATE TABLE IF NOT EXISTS core.vasp_jobs (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    accounting VARCHAR NOT NULL, -- source of the job, as `accounting` says in the catalogue
    job_index BIGINT NOT NULL, -- the job, in core.jobs
    matched_by VARCHAR NOT NULL, -- job_id; or time: the only job of so many processors that was running and had just begun
);
