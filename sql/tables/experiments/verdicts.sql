-- Verdicts on policies. The log is replayed from its first job, and the jobs after all that was learned from are scored. Ratios are over
-- FCFS with EASY and requested times, and less is better.
CREATE TABLE IF NOT EXISTS experiments.verdicts (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    experiment VARCHAR NOT NULL, -- as in experiments.window_costs
    goal VARCHAR NOT NULL, -- what learned policies and keys were to make small
    policy VARCHAR NOT NULL, -- a heuristic, EASY-SJBF, bounded-key, key, or a way of learning; of agents also the policy and what they decide, of DD-PPO the log
    seed BIGINT, -- of the search or training; NULL for a rule
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used: requested, predicted or live
    jobs BIGINT NOT NULL, -- jobs scored
{{ replay_metrics }}
    wide_wait_s DOUBLE, -- mean wait of jobs wider than a quarter of the cluster, seconds; NULL where there is none
    verdict VARCHAR NOT NULL, -- a word of docs/reference/semantics.md, Verdicts, with a comma and certain behind it
    payers VARCHAR NOT NULL, -- what is worse than the verdict's limits allow, worst first; empty if nothing is
    bounded_slowdown_ratio DOUBLE NOT NULL, -- of the mean bounded slowdowns
    wait_ratio DOUBLE NOT NULL, -- of the mean waits
    p99_wait_ratio DOUBLE NOT NULL, -- of the 99th percentiles of waits
    area_wait_ratio DOUBLE NOT NULL, -- of the mean waits weighted by run time times processors
    wide_wait_ratio DOUBLE, -- of the mean waits of wide jobs; NULL where there is none
    lost_capacity_change DOUBLE NOT NULL, -- loss of capacity minus that of FCFS
    typical_slowdown_ratio DOUBLE NOT NULL, -- of the bounded slowdowns in the typical block, see docs/reference/semantics.md
    typical_slowdown_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none
    typical_slowdown_high DOUBLE, -- upper end
    typical_wait_ratio DOUBLE NOT NULL, -- of the waits in the typical block
    typical_wait_low DOUBLE, -- lower end of its 95 % interval
    typical_wait_high DOUBLE, -- upper end
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
);
