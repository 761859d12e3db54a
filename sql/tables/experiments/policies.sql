-- The policies that were trained for experiments: their files, and how they were chosen.
CREATE TABLE IF NOT EXISTS experiments.policies (
    source VARCHAR NOT NULL, -- source trained on
    experiment VARCHAR NOT NULL, -- as in experiments.window_costs
    rules VARCHAR NOT NULL, -- replay rules
    backfill VARCHAR NOT NULL, -- backfilling rule
    goal VARCHAR NOT NULL, -- what was made small
    policy VARCHAR NOT NULL, -- ppo, evolution or imitation
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    seed BIGINT NOT NULL, -- training seed
    best_epoch BIGINT NOT NULL, -- epoch kept, by what chooses; 0 for what it started from
    validation_cost DOUBLE NOT NULL, -- on what chooses
    file VARCHAR NOT NULL, -- weights and card below warehouse/data
    sha256 VARCHAR NOT NULL, -- hash of that file, in hexadecimal
);
