-- Neural Simulated Annealing's protocol: what each way of choosing nodes costs in hops, window by window and in a cluster of its own.
CREATE TABLE IF NOT EXISTS experiments.topology (
    tree VARCHAR NOT NULL, -- paper or code: the tree and the costs of the paper's text, or of its public code
    protocol VARCHAR NOT NULL, -- window, where all methods get the same windows, or closed_loop, where each lives with what it leaves idle
    method VARCHAR NOT NULL, -- how nodes are chosen; ideal has each job alone on an empty cluster
    seed BIGINT NOT NULL, -- of the experiment
    epoch BIGINT NOT NULL, -- from 0; each begins with an empty cluster
    cases BIGINT NOT NULL, -- windows, or jobs of the closed loop
    cost DOUBLE NOT NULL, -- mean cost of a window, or of a job of the closed loop, 1,000 for a hop
    of_sequential DOUBLE NOT NULL, -- the same over that of the sequential assignment in this epoch
    average_wait_s DOUBLE, -- mean wait, seconds; NULL for windows and for ideal
    p99_wait_s DOUBLE, -- 99th percentile of the waits, seconds
    max_wait_s DOUBLE, -- longest wait, seconds
);
