-- The priority key  submit + min(c * estimate^a * procs^b, cap)  that is best where nobody pays for it: what learning has to beat.
CREATE TABLE IF NOT EXISTS policies.priority_keys (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    goal VARCHAR NOT NULL, -- that of the learned policies, see docs/guides/policies.md
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    formula VARCHAR NOT NULL, -- as `tracehouse replay --policy` takes it
    log_c DOUBLE NOT NULL, -- decimal logarithm of c
    a DOUBLE NOT NULL, -- exponent of the estimate
    b DOUBLE NOT NULL, -- exponent of the processors
    cap_s DOUBLE, -- the cap in seconds, NULL for a key without one
    cost DOUBLE NOT NULL, -- the goal on the jobs that it was searched on
    verdict VARCHAR, -- beside FCFS with the same backfilling and estimates, on those jobs; see docs/reference/semantics.md, Verdicts
    bounded_slowdown_ratio DOUBLE, -- bounded slowdown over that of FCFS on those jobs
    wait_ratio DOUBLE, -- mean wait over that of FCFS on those jobs
    keys_tried BIGINT NOT NULL, -- keys replayed
    trained_jobs BIGINT NOT NULL, -- replayable jobs before this position were open to the search
);
