-- What policies cost on windows, or blocks of one replay, that judge them, one row per policy, training seed and window.
CREATE TABLE IF NOT EXISTS experiments.window_costs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    experiment VARCHAR NOT NULL, -- held_out, published, published_seen or transfer: see docs/guides/policies.md
    rules VARCHAR NOT NULL, -- replay rules: standard or rlscheduler
    backfill VARCHAR NOT NULL, -- backfilling rule
    goal VARCHAR NOT NULL, -- what the cost is; utilisation counts negative
    policy VARCHAR NOT NULL, -- a heuristic, key (tuned), ppo, evolution, imitation, or hindsight
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    trained_on VARCHAR, -- source of a policy that was trained or tuned; NULL for a heuristic
    seed BIGINT, -- training seed; NULL for a heuristic
    window_number BIGINT NOT NULL, -- from 0, by position
    first_position BIGINT NOT NULL, -- position of the window's first job among the replayable jobs
    window_jobs BIGINT NOT NULL, -- consecutive jobs in the window
    cost DOUBLE NOT NULL, -- mean over the window's jobs; seconds for wait and turnaround
);
