-- Who ran where in replay.placements, one row per job of the replay. A job that was cancelled while it waited has no nodes.
CREATE TABLE IF NOT EXISTS replay.placed_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    placement VARCHAR NOT NULL, -- as in replay.placements
    job_index BIGINT NOT NULL, -- as in core.jobs
    start_time TIMESTAMP, -- replayed start, UTC; NULL for a job that never ran, as all below
    wait_s BIGINT, -- replayed wait, seconds
    nodes VARCHAR, -- names of the nodes as Slurm writes them, such as n[0-3,7]
    units BIGINT, -- nodes, or processors of shared nodes, that it held
    hop_cost DOUBLE, -- hops between its units, over ordered pairs, divided by the units
    compact_hop_cost DOUBLE, -- the same, had it the empty machine for itself
    leaves BIGINT, -- leaf switches above its nodes
    pods BIGINT, -- switches of the second level above its nodes
);
