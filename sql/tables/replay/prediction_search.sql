-- What use of predicted run times would have shortened waits: configurations tried on the first part of the trace, the best
-- one, and its rivals, on the rest. Live estimates come from jobs that had ended in the replay, predicted ones from those in the
-- log. A log without requests makes what is called requested exact.
CREATE TABLE IF NOT EXISTS replay.prediction_search (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    part VARCHAR NOT NULL, -- choosing: jobs before the split; testing: jobs after it, which chose nothing
    family VARCHAR NOT NULL, -- backfilling: FCFS order; ordering: any order; rival: neither chosen nor tuned
    name VARCHAR NOT NULL, -- the configuration in words
    chosen BOOLEAN NOT NULL, -- whether it was the best of its family on the choosing part
    policy VARCHAR NOT NULL, -- order of the queue, as `tracehouse replay --policy`
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- requested, actual, live:STATISTIC, or predicted (by the predictor in use) and a quantile
    factor DOUBLE NOT NULL, -- by which the statistic is multiplied
    reserve_by VARCHAR NOT NULL, -- what reservations believe of jobs that run: estimate or requested
    correction VARCHAR NOT NULL, -- what is believed of a job past its estimate
    average_bounded_slowdown DOUBLE NOT NULL, -- mean bounded slowdown
    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds
    p99_wait_s DOUBLE NOT NULL, -- 99th percentile of the wait, seconds
    underestimated_share DOUBLE NOT NULL, -- share of jobs that ran longer than estimated at their start; none is killed for it
    reservations_delayed_share DOUBLE NOT NULL, -- share of blocked heads that started later than first promised; 0 under conservative backfilling, which has no heads
    mean_reservation_delay_s DOUBLE NOT NULL, -- mean delay of those, seconds
);
