-- One row per materialized source: its cluster and its clock.
CREATE TABLE IF NOT EXISTS core.sources (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    format VARCHAR NOT NULL, -- swf, pbs or slurm
    description VARCHAR, -- from the catalogue
    cluster_procs BIGINT, -- processors of the cluster; NULL until the jobs are written, where they have to tell
    cluster_procs_from VARCHAR NOT NULL, -- where that number comes from: catalogue, header, or peak of processors in use
    cluster_nodes BIGINT, -- nodes, where the catalogue says; see core.clusters
    cluster_gpus BIGINT, -- GPUs, where the catalogue says
    node_memory_kb BIGINT, -- memory of a node in kilobytes, where the catalogue says
    time_zone VARCHAR NOT NULL, -- IANA name of the cluster's time zone
    time_zone_from VARCHAR, -- catalogue, header or assumed, by who gave that name; NULL until the log is read again
    clock_zero TIMESTAMP NOT NULL, -- UTC time of second 0 of the log's own clock (1970 for Unix time, and where an SWF header names none)
    origin_s BIGINT NOT NULL, -- second of the log's clock that policies count absolute time from
    pseudonym_key VARCHAR, -- SHA-256 of the key that its names were last replaced with; NULL where names stay
);
