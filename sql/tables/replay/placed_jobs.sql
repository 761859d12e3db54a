-- Who ran where in replay.placements, one row per job that started.
CREATE TABLE IF NOT EXISTS replay.placed_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    placement VARCHAR NOT NULL, -- as in replay.placements
    job_index BIGINT NOT NULL, -- as in core.jobs
    start_time TIMESTAMP NOT NULL, -- replayed start, UTC
    wait_s BIGINT NOT NULL, -- replayed wait, seconds
    nodes VARCHAR NOT NULL, -- names of the nodes as Slurm writes them, such as n[0-3,7]
    units BIGINT NOT NULL, -- nodes, or processors of shared nodes, that it held
    hop_cost DOUBLE NOT NULL, -- hops between its units, over ordered pairs, divided by the units
    compact_hop_cost DOUBLE NOT NULL, -- the same, had it the empty machine for itself
    leaves BIGINT NOT NULL, -- leaf switches above its nodes
    pods BIGINT NOT NULL, -- switches of the second level above its nodes
);
