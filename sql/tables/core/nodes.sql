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
