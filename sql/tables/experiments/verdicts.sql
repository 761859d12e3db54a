-- Policies of experiments in one replay of the whole log, beside FCFS with EASY and requested times. Jobs that no training has seen
-- are scored. Ratios are about the typical block (docs/judging.md), and less is better.
CREATE TABLE IF NOT EXISTS experiments.verdicts (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    experiment VARCHAR NOT NULL, -- as in experiments.window_costs
    backfill VARCHAR NOT NULL, -- backfilling rule
    goal VARCHAR NOT NULL, -- what was made small
    policy VARCHAR NOT NULL, -- as in experiments.window_costs
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    seed BIGINT, -- training seed; NULL for rules
    average_bounded_slowdown DOUBLE NOT NULL, -- mean bounded slowdown of the scored jobs, as all below
    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds
    p99_wait_s DOUBLE NOT NULL, -- 99th percentile of the wait, seconds
    max_wait_s DOUBLE NOT NULL, -- the longest wait, seconds
    area_weighted_wait_s DOUBLE NOT NULL, -- mean wait weighted by run time times processors, seconds
    wide_wait_s DOUBLE, -- mean wait of jobs wider than a quarter of the cluster, seconds; NULL where there is none
    lost_capacity DOUBLE NOT NULL, -- share of the processor time that was free while waiting jobs asked for it
    verdict VARCHAR NOT NULL, -- dominates (certain), trades, harms, worse or no difference, by docs/semantics.md
    payers VARCHAR NOT NULL, -- what is worse than the verdict's limits allow, worst first; empty if nothing is
    slowdown_ratio DOUBLE, -- bounded slowdown over that of FCFS with EASY in the typical block
    slowdown_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none
    slowdown_high DOUBLE, -- upper end
    wait_ratio DOUBLE, -- wait over that of FCFS with EASY in the typical block
    wait_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none
    wait_high DOUBLE, -- upper end
    shifts BIGINT NOT NULL, -- replays with other first jobs that the verdict rests on; 1 is the whole log alone
);
