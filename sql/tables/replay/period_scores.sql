-- Scores of policies on the period after the training part. The log is replayed from its first job, and jobs of the period are
-- scored. Ratios are over FCFS with EASY and requested times, and less is better.
CREATE TABLE IF NOT EXISTS replay.period_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    policy VARCHAR NOT NULL, -- a policy of docs/reference/semantics.md, EASY-SJBF, key (the tuned priority key) or learned (the champion)
    seed BIGINT, -- training seed of the learned policy
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used: requested, predicted or live
    jobs BIGINT NOT NULL, -- jobs scored
{{ replay_metrics }}
    wide_wait_s DOUBLE, -- mean wait of jobs wider than a quarter of the cluster, seconds; NULL where there is none
    verdict VARCHAR, -- a word of docs/reference/semantics.md, Verdicts, with a comma and certain behind it; NULL in rows of older releases, as all below
    payers VARCHAR, -- what is worse than the verdict's limits allow, worst first; empty if nothing is
    bounded_slowdown_ratio DOUBLE, -- of the mean bounded slowdowns
    wait_ratio DOUBLE, -- of the mean waits
    p99_wait_ratio DOUBLE, -- of the 99th percentiles of waits
    area_wait_ratio DOUBLE, -- of the mean waits weighted by run time times processors
    wide_wait_ratio DOUBLE, -- of the mean waits of wide jobs; NULL where there is none
    lost_capacity_change DOUBLE, -- loss of capacity minus that of FCFS
    typical_slowdown_ratio DOUBLE, -- of the bounded slowdowns in the typical block, see docs/reference/semantics.md
    typical_slowdown_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none
    typical_slowdown_high DOUBLE, -- upper end
    typical_wait_ratio DOUBLE, -- of the waits in the typical block
    typical_wait_low DOUBLE, -- lower end of its 95 % interval
    typical_wait_high DOUBLE, -- upper end
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
);
