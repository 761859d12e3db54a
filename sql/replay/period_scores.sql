-- Scores of policies on the whole period after the training part, replayed in one piece.
CREATE TABLE IF NOT EXISTS replay.period_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    policy VARCHAR NOT NULL, -- FCFS, SJF, SAF, WFP3, UNICEP, F1 or learned
    seed BIGINT, -- training seed of a learned policy
    backfill VARCHAR NOT NULL, -- none or easy
    estimates VARCHAR NOT NULL, -- run times the scheduler believed: requested or predicted
    jobs BIGINT NOT NULL, -- jobs replayed
    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds
    p95_wait_s DOUBLE NOT NULL, -- 95th percentile of the wait, seconds
    max_wait_s DOUBLE NOT NULL, -- longest wait, seconds
    average_turnaround_s DOUBLE NOT NULL, -- mean of wait plus run time, seconds
    average_slowdown DOUBLE NOT NULL, -- mean of turnaround over run time
    average_bounded_slowdown DOUBLE NOT NULL, -- the same with run times of at least 10 s counted
    p95_bounded_slowdown DOUBLE NOT NULL, -- 95th percentile of the bounded slowdown
    utilisation DOUBLE NOT NULL, -- processor time used over processor time there until the last completion
    makespan_s DOUBLE NOT NULL, -- last completion minus first submission, seconds
    backfilled_share DOUBLE NOT NULL, -- share of jobs started past a blocked head
    semantics BIGINT NOT NULL, -- version of docs/semantics.md
);
