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
