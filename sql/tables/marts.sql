-- [job_wait_causes]
-- What kept each job waiting, as `tracehouse why` says it: one row per job and cause, and none for a job that did not wait. The seconds of
-- a job add up to its wait.
CREATE TABLE IF NOT EXISTS marts.job_wait_causes (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    starts VARCHAR NOT NULL, -- log (the log's own starts) or replay (those of a replay under the source's own Slurm)
    job_index BIGINT NOT NULL, -- as in core.jobs
    cause VARCHAR NOT NULL, -- such as gpus, behind_fair_share or limit
    meaning VARCHAR NOT NULL, -- the cause in words, as tables print it
    waited_s BIGINT NOT NULL, -- for how long it kept the job, seconds
    limit_text VARCHAR, -- of the cause limit: the limit that kept the job last, in words
    behind_job VARCHAR, -- of the causes behind_...: id of the job that it was behind longest at one go
    behind_user VARCHAR, -- whose job that is
    basis VARCHAR NOT NULL, -- by which rules and nodes, in words
);

-- [leaderboard]
-- Policies ranked by their verdicts beside the incumbent, over one replay of the whole log of which the jobs after the training
-- part are scored. The incumbent is the scheduler of the cluster that is described, else FCFS with EASY and requested times over a
-- row of processors. Those that dominate come first. Intervals are about the typical of 16 blocks.
CREATE TABLE IF NOT EXISTS marts.leaderboard (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    rank BIGINT, -- 1 is best; policies that make no difference to each other share it, NULL where nobody waits under any
    policy VARCHAR NOT NULL, -- as in replay.period_scores
    cluster VARCHAR, -- whose nodes, or limits, the replays had; NULL for a row of processors
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- requested, predicted or live
    verdict VARCHAR NOT NULL, -- a word of docs/reference/semantics.md, Verdicts, with a comma and certain behind it
    payers VARCHAR NOT NULL, -- who waits longer, worst first; empty if nobody does
    jobs BIGINT NOT NULL, -- jobs scored
    average_bounded_slowdown DOUBLE NOT NULL, -- mean over these jobs
    average_wait_s DOUBLE NOT NULL, -- mean over these jobs, seconds
    max_wait_s DOUBLE NOT NULL, -- the longest, seconds
    bounded_slowdown_ratio DOUBLE NOT NULL, -- over the incumbent, of the means; below 1 is better, as in all ratios below
    wait_ratio DOUBLE NOT NULL, -- over the incumbent, of the means
    p99_wait_ratio DOUBLE NOT NULL, -- over the incumbent, of the 99th percentiles of waits
    area_wait_ratio DOUBLE NOT NULL, -- over the incumbent, of the mean waits weighted by run time times processors
    wide_wait_ratio DOUBLE, -- over the incumbent, of the mean waits of jobs wider than a quarter of the cluster; NULL where there is none
    lost_capacity_change DOUBLE NOT NULL, -- loss of capacity minus that of the incumbent
    typical_slowdown_ratio DOUBLE, -- bounded slowdown over the incumbent in the typical block
    typical_slowdown_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none, see docs/reference/semantics.md
    typical_slowdown_high DOUBLE, -- upper end
    typical_wait_ratio DOUBLE, -- wait over the incumbent in the typical block
    typical_wait_low DOUBLE, -- lower end of its 95 % interval
    typical_wait_high DOUBLE, -- upper end
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
);

-- [trace_health]
-- What looks wrong in a log, after Feitelson and Tsafrir ("Workload sanitation for performance evaluation", 2006): one row per
-- source and finding, also where nothing was found. The rules are in docs/reference/semantics.md.
CREATE TABLE IF NOT EXISTS marts.trace_health (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    finding VARCHAR NOT NULL, -- such as flurries
    found BIGINT NOT NULL, -- how many, of `unit`
    unit VARCHAR NOT NULL, -- jobs, days, lines, records or user-weeks
    share DOUBLE, -- of all of the source
    example VARCHAR, -- the worst of them, or the first
    meaning VARCHAR NOT NULL, -- what the rule is, and what to do about it
);
