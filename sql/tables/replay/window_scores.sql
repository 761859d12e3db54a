-- Scores of policies on windows after the training part, the same windows for every policy.
CREATE TABLE IF NOT EXISTS replay.window_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    window_number BIGINT NOT NULL, -- from 0
    first_position BIGINT NOT NULL, -- position of the window's first job among the replayable jobs
    policy VARCHAR NOT NULL, -- a heuristic of docs/semantics.md, or learned
    seed BIGINT, -- training seed of a learned policy
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used: requested or predicted
    jobs BIGINT NOT NULL, -- jobs in the window
{{ replay_metrics }}
    semantics BIGINT NOT NULL, -- version of docs/semantics.md
);
