-- What each source's cluster has, and where that is known from: catalogue, command line, header, or the jobs (docs/reference/semantics.md).
CREATE TABLE IF NOT EXISTS core.clusters (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    procs BIGINT NOT NULL, -- processors
    procs_from VARCHAR NOT NULL, -- catalogue, command line, header, or peak: the most in use at one time
    nodes BIGINT, -- nodes; NULL where nothing tells
    nodes_from VARCHAR, -- catalogue, or jobs: processors by processors per node
    procs_per_node BIGINT, -- processors by nodes where the catalogue gives nodes, else the commonest number of jobs on several nodes
    gpus BIGINT, -- GPUs; NULL where nothing tells
    gpus_from VARCHAR, -- catalogue, or peak: the most in use at one time
    node_memory_kb BIGINT, -- memory of a node, kilobytes; NULL where nothing tells
    node_memory_from VARCHAR, -- catalogue, or jobs: the most that a job which ran asked for on a node
);
