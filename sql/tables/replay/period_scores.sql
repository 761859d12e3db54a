-- Scores of policies on the whole period after the training part, replayed as a whole.
CREATE TABLE IF NOT EXISTS replay.period_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    policy VARCHAR NOT NULL, -- a heuristic of docs/semantics.md, or learned
    seed BIGINT, -- training seed of a learned policy
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used: requested or predicted
    jobs BIGINT NOT NULL, -- jobs replayed
{{ replay_metrics }}
    semantics BIGINT NOT NULL, -- version of docs/semantics.md
);
