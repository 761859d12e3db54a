-- What use of predicted run times would have shortened waits. Configurations are tried on the first part of the trace, and the
-- chosen one of each family is judged on later jobs, beside rivals. Every replay begins with the first job of the log. Ratios are
-- over FCFS with EASY and requested times on the same jobs, and less is better. Live estimates come from jobs that had ended in
-- the replay, predicted ones from those in the log. A log without requests makes what is called requested exact.
CREATE TABLE IF NOT EXISTS replay.prediction_search (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    part VARCHAR NOT NULL, -- choosing (jobs before the split, without their first fifth) or testing (jobs after it, which chose nothing)
    family VARCHAR NOT NULL, -- backfilling (FCFS order), ordering (any order) or rival (neither chosen nor tuned)
    name VARCHAR NOT NULL, -- the configuration in words
    chosen BOOLEAN NOT NULL, -- whether it is the choice of its family
    dominates_in_search BOOLEAN, -- whether it dominates in every trial of the choosing part, with no guard above 1.05; NULL for rivals
    search_value DOUBLE, -- what the search minimizes, on the choosing part, see docs/reference/semantics.md; NULL for rivals
    policy VARCHAR NOT NULL, -- order of the queue, as `tracehouse replay --policy`
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- requested, actual, live:STATISTIC, or predicted (by the predictor in use) and a quantile
    factor DOUBLE NOT NULL, -- by which the statistic is multiplied
    reserve_by VARCHAR NOT NULL, -- what reservations use of jobs that run: estimate or requested
    admit_by VARCHAR NOT NULL, -- what decides who goes before a blocked head: estimate or requested
    correction VARCHAR NOT NULL, -- what is used for a job past its estimate
    average_bounded_slowdown DOUBLE NOT NULL, -- mean bounded slowdown of the part's jobs, as all below
    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds
    p99_wait_s DOUBLE NOT NULL, -- 99th percentile of the wait, seconds
    max_wait_s DOUBLE NOT NULL, -- the longest wait, seconds
    area_weighted_wait_s DOUBLE NOT NULL, -- mean wait weighted by run time times processors, seconds
    wide_wait_s DOUBLE, -- mean wait of jobs wider than a quarter of the cluster, seconds; NULL where there is none
    lost_capacity DOUBLE NOT NULL, -- share of the processor time that was free while waiting jobs needed it
    underestimated_share DOUBLE NOT NULL, -- share of jobs that ran longer than estimated at their start; none is killed for it
    reservations_delayed_share DOUBLE NOT NULL, -- share of blocked heads that started later than first promised; 0 under conservative backfilling, which has no heads
    mean_reservation_delay_s DOUBLE NOT NULL, -- mean delay of those, seconds
    verdict VARCHAR NOT NULL, -- a word of docs/reference/semantics.md, Verdicts, with a comma and certain behind it, over all trials or starts
    payers VARCHAR NOT NULL, -- what is worse than the verdict's limits allow, worst first; empty if nothing is
    bounded_slowdown_ratio DOUBLE NOT NULL, -- of the mean bounded slowdowns
    wait_ratio DOUBLE NOT NULL, -- of the mean waits
    p99_wait_ratio DOUBLE NOT NULL, -- of the 99th percentiles of waits
    area_wait_ratio DOUBLE NOT NULL, -- of the mean waits weighted by run time times processors
    wide_wait_ratio DOUBLE, -- of the mean waits of wide jobs; NULL where there is none
    lost_capacity_change DOUBLE NOT NULL, -- lost capacity minus that of FCFS with EASY
    typical_slowdown_ratio DOUBLE, -- of the bounded slowdowns in the typical block, see docs/reference/semantics.md; NULL in the choosing part, as all below
    typical_slowdown_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none
    typical_slowdown_high DOUBLE, -- upper end
    typical_wait_ratio DOUBLE, -- of the waits in the typical block
    typical_wait_low DOUBLE, -- lower end of its 95 % interval
    typical_wait_high DOUBLE, -- upper end
    replays BIGINT NOT NULL, -- replays that the verdict rests on: trials of the choosing part, starts of the log in the testing part
);
