-- Candidate training windows and what SJF makes of them (RLScheduler, section IV-C).
CREATE TABLE IF NOT EXISTS policies.trajectory_windows (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    first_position BIGINT NOT NULL, -- position of the window's first job among the replayable jobs, from 0
    jobs BIGINT NOT NULL, -- consecutive jobs in the window
    sjf_cost DOUBLE NOT NULL, -- the goal on the window under SJF
    kept BOOLEAN NOT NULL, -- whether it lies inside (median, 2 x mean)
);
