-- Policies ranked by average bounded slowdown on the evaluation windows, with 95 % confidence intervals.
-- Intervals are percentile bootstraps over windows; differences are paired on the same windows; a learned policy
-- is the mean over its training seeds. Interval columns are NULL with fewer than five windows.
CREATE TABLE IF NOT EXISTS marts.leaderboard (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    rank BIGINT NOT NULL, -- 1 is the lowest average bounded slowdown
    policy VARCHAR NOT NULL, -- a heuristic of docs/semantics.md, or learned
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- requested or predicted
    windows BIGINT NOT NULL, -- windows averaged over
    seeds BIGINT NOT NULL, -- training seeds averaged over; 1 for a heuristic
    average_bounded_slowdown DOUBLE NOT NULL, -- mean over windows
    bounded_slowdown_low DOUBLE, -- lower end of its confidence interval
    bounded_slowdown_high DOUBLE, -- upper end
    average_wait_s DOUBLE NOT NULL, -- mean over windows, seconds
    p95_wait_s DOUBLE NOT NULL, -- mean over windows of the 95th percentile of the wait, seconds
    utilisation DOUBLE NOT NULL, -- mean over windows
    minus_fcfs DOUBLE NOT NULL, -- bounded slowdown minus that of FCFS with EASY and requested times; negative is better
    minus_fcfs_low DOUBLE, -- lower end of its confidence interval
    minus_fcfs_high DOUBLE, -- upper end
    minus_saf DOUBLE NOT NULL, -- the same against SAF (smallest area first) with EASY and requested times
    minus_saf_low DOUBLE, -- lower end of its confidence interval
    minus_saf_high DOUBLE, -- upper end
    semantics BIGINT NOT NULL, -- version of docs/semantics.md
);
