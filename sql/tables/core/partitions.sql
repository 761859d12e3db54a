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
