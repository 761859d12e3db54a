-- Replays of a source on nodes below switches that were saved by name: settings, waits, and what the nodes of the jobs cost.
CREATE TABLE IF NOT EXISTS replay.placements (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    placement VARCHAR NOT NULL, -- name of the placement; saving another under the same name replaces it
    topology VARCHAR NOT NULL, -- the tree of switches in words such as 16x8x4, or its file without the folder
    hops VARCHAR, -- hops between two nodes by the level of their lowest common switch, such as 2,4,6 (NULL if saved before version 7)
    procs_per_node BIGINT NOT NULL, -- processors of a node
    nodes VARCHAR NOT NULL, -- shared, or whole where every job takes whole nodes
    place VARCHAR NOT NULL, -- who chose the nodes of a job: first, random, contiguous, tree, ring, dcas, scas, free or looking-ahead (which chose jobs, too)
    placing_seed BIGINT NOT NULL, -- seed of the rules random and free
    period_s BIGINT, -- seconds between two acts of the scheduler (NULL for one that always acts)
    switches VARCHAR, -- how long jobs waited for how few leaf switches, LEAVES@WAIT (NULL for not at all)
    policy VARCHAR NOT NULL, -- as written after --policy, without the folder of a file
    backfill VARCHAR NOT NULL, -- as in replay.runs
    estimates VARCHAR NOT NULL, -- as in replay.runs
    other_settings VARCHAR, -- further settings of the replay that are not the usual ones, JSON object (NULL if saved before version 7)
    procs BIGINT NOT NULL, -- processors of the cluster
    jobs BIGINT NOT NULL, -- jobs replayed
    trace_sha256 VARCHAR NOT NULL, -- hash over the jobs replayed: placements with the same one can be compared job by job
    engine VARCHAR NOT NULL, -- version of tracehouse + hash of the engine's source
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds
    p99_wait_s DOUBLE NOT NULL, -- 99th percentile of the waits, seconds
    max_wait_s DOUBLE NOT NULL, -- longest wait, seconds
    average_bounded_slowdown DOUBLE NOT NULL, -- mean bounded slowdown
    average_hop_cost DOUBLE NOT NULL, -- mean over jobs of the hops between their units, over ordered pairs, divided by the units
    average_compact_hop_cost DOUBLE NOT NULL, -- the same, had each job the empty machine for itself
    area_weighted_hop_cost DOUBLE NOT NULL, -- mean hop cost, weighted by units times run time
    area_weighted_compact_hop_cost DOUBLE NOT NULL, -- the same, had each job the empty machine for itself
    area_weighted_extra_hops DOUBLE NOT NULL, -- hops more than on the empty machine between two units of a job, weighted by units times run time
    average_leaves DOUBLE NOT NULL, -- mean number of leaf switches above a job
    one_leaf_share DOUBLE NOT NULL, -- share of jobs of several units that were below one leaf switch
    one_pod_share DOUBLE NOT NULL, -- share of jobs of several units that were below one switch of the second level
    fits_one_leaf_share DOUBLE NOT NULL, -- share of jobs of several units that the largest leaf holds
    scattered_jobs DOUBLE NOT NULL, -- jobs for which the rule contiguous found no block
    fragmentation DOUBLE NOT NULL, -- share of the idle units in leaves that were partly used, as starting jobs found it
);
