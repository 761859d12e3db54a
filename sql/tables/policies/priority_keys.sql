-- The priority key  submit + c * estimate^a * procs^b  that is best on the windows to learn from: what learning has to beat.
CREATE TABLE IF NOT EXISTS policies.priority_keys (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    goal VARCHAR NOT NULL, -- what it makes small, see docs/policies.md
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    formula VARCHAR NOT NULL, -- as `tracehouse replay --policy` takes it
    log_c DOUBLE NOT NULL, -- decimal logarithm of c
    a DOUBLE NOT NULL, -- exponent of the estimate
    b DOUBLE NOT NULL, -- exponent of the processors
    cost DOUBLE NOT NULL, -- the goal on the windows that it was searched on
    keys_tried BIGINT NOT NULL, -- keys replayed
    trained_jobs BIGINT NOT NULL, -- replayable jobs before this position were open to the search
);
