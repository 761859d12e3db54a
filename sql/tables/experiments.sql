-- [comparisons]
-- Means over windows and training seeds, and differences from a rival that are paired on the same windows.
CREATE TABLE IF NOT EXISTS experiments.comparisons (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    experiment VARCHAR NOT NULL, -- as in experiments.window_costs
    rules VARCHAR NOT NULL, -- replay rules
    backfill VARCHAR NOT NULL, -- backfilling rule
    goal VARCHAR NOT NULL, -- what the cost is
    policy VARCHAR NOT NULL, -- as in experiments.window_costs
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    trained_on VARCHAR, -- source of a policy that was trained or tuned
    seeds BIGINT NOT NULL, -- training seeds averaged over; 1 for a heuristic
    windows BIGINT NOT NULL, -- windows averaged over
    cost DOUBLE NOT NULL, -- mean
    rival VARCHAR NOT NULL, -- policy and estimates that it is compared with; a trained one is from the same source
    difference DOUBLE NOT NULL, -- cost minus the rival's; negative is better
    difference_low DOUBLE, -- lower end of the 95 % interval; NULL for blocks of one replay, and with fewer than four windows apart
    difference_high DOUBLE, -- upper end
    ratio DOUBLE, -- over the rival's in the typical block of one replay; NULL for windows that begin on an empty cluster
    ratio_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none, see docs/reference/semantics.md
    ratio_high DOUBLE, -- upper end
);

-- [curves]
-- Training curves that compare networks (RLScheduler, figure 8), training with and without trajectory filtering (figure 9), and DD-PPO.
CREATE TABLE IF NOT EXISTS experiments.curves (
    source VARCHAR NOT NULL, -- source trained on
    experiment VARCHAR NOT NULL, -- networks, filtering, or ddppo with its goal
    variant VARCHAR NOT NULL, -- which network, filtered, unfiltered or relative (reward measured from SJF's on the same window), or what tunes DD-PPO
    seed BIGINT NOT NULL, -- training seed
    epoch BIGINT NOT NULL, -- from 1; a generation of a population
    phase VARCHAR NOT NULL, -- filtered or all windows
    decisions BIGINT NOT NULL, -- choices recorded
    sampled_cost DOUBLE NOT NULL, -- mean cost of the epoch's trajectories: bounded slowdown, or the goal of DD-PPO
    validation_cost DOUBLE NOT NULL, -- of the windows that choose, best choice taken
);

-- [policies]
-- The policies that were trained for experiments: their files, and how they were chosen.
CREATE TABLE IF NOT EXISTS experiments.policies (
    source VARCHAR NOT NULL, -- source trained on
    experiment VARCHAR NOT NULL, -- as in experiments.window_costs
    rules VARCHAR NOT NULL, -- replay rules
    backfill VARCHAR NOT NULL, -- backfilling rule
    goal VARCHAR NOT NULL, -- what was made small
    policy VARCHAR NOT NULL, -- ppo, evolution or imitation
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    seed BIGINT NOT NULL, -- training seed
    best_epoch BIGINT NOT NULL, -- epoch kept, by what chooses; 0 for what it started from
    validation_cost DOUBLE NOT NULL, -- on what chooses
    file VARCHAR NOT NULL, -- weights and card below warehouse/data
    sha256 VARCHAR NOT NULL, -- hash of that file, in hexadecimal
);

-- [rlschert]
-- RLSchert's cluster: the result of each scheduler on each test sequence of synthetic VASP jobs.
CREATE TABLE IF NOT EXISTS experiments.rlschert (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue, whose measured errors the predictions may have
    experiment VARCHAR NOT NULL, -- main, load, resources, preemption, predictable, mixed, completion or networks
    setting DOUBLE NOT NULL, -- what varies: job rate, processors, cost of a kill or share of predictable jobs; the job rate elsewhere
    part VARCHAR NOT NULL, -- training (sequences that were learned from) or test (others)
    policy VARCHAR NOT NULL, -- Random, SJF, SAF, Tetris, Tetris*, DeepRM, RLSchert, or SJF or SAF with ', whole queue'; of experiment networks, what was trained
    kill VARCHAR NOT NULL, -- none, rule, learned or stopping (by the stopping rule)
    seed BIGINT NOT NULL, -- of the training; 1 for heuristics
    sequence BIGINT NOT NULL, -- number of the sequence, from 0
    slowdown DOUBLE, -- mean over its jobs (equation 13); NULL where it did not reach its end
    completion DOUBLE, -- mean completion time, units of time (equation 14)
    holes DOUBLE NOT NULL, -- free processors, summed over the units of time
    kills BIGINT NOT NULL, -- jobs killed, each time counted
);

-- [rlschert_comparisons]
-- Differences between schedulers in RLSchert's cluster, paired on the same test sequences.
CREATE TABLE IF NOT EXISTS experiments.rlschert_comparisons (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    experiment VARCHAR NOT NULL, -- as in experiments.rlschert
    setting DOUBLE NOT NULL, -- as there
    policy VARCHAR NOT NULL, -- scheduler, with how it kills
    rival VARCHAR NOT NULL, -- the scheduler it is compared with
    cost DOUBLE NOT NULL, -- its mean slowdown, or completion time of experiment completion
    difference DOUBLE NOT NULL, -- minus the rival's; negative is better
    difference_low DOUBLE, -- lower end of the 95 % interval, over sequences and seeds
    difference_high DOUBLE, -- upper end
);

-- [rlschert_curves]
-- Training curves of the schedulers of RLSchert's cluster (figures 7 to 9).
CREATE TABLE IF NOT EXISTS experiments.rlschert_curves (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    experiment VARCHAR NOT NULL, -- main, completion or networks
    policy VARCHAR NOT NULL, -- DeepRM or RLSchert; of experiment networks, what was trained
    kill VARCHAR NOT NULL, -- none, rule or learned
    seed BIGINT NOT NULL, -- of the training
    iteration BIGINT NOT NULL, -- from 1
    sampled DOUBLE NOT NULL, -- mean cost of the sequences that were learned from
    validation DOUBLE, -- mean cost of the best actions on the validation sequences; NULL where not measured
    decisions BIGINT NOT NULL, -- actions sampled
    entropy DOUBLE NOT NULL, -- of the policy, nats
    teacher_weight DOUBLE NOT NULL, -- of the imitation loss (alpha_t of equation 11)
);

-- [rlschert_holes]
-- Free processors over time, summed up, in the first test sequences under each scheduler (figure 12a).
CREATE TABLE IF NOT EXISTS experiments.rlschert_holes (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    policy VARCHAR NOT NULL, -- as in experiments.rlschert, experiment main
    kill VARCHAR NOT NULL, -- none, rule, learned or stopping
    unit BIGINT NOT NULL, -- unit of time, from 0
    holes DOUBLE NOT NULL, -- free processors up to and with this unit, mean of the sequences; after its end a sequence adds none
);

-- [rlschert_jobs]
-- Jobs of the first test sequences under each scheduler: waits, and which were killed (figures 12 and 13).
CREATE TABLE IF NOT EXISTS experiments.rlschert_jobs (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    policy VARCHAR NOT NULL, -- as in experiments.rlschert, experiment main
    kill VARCHAR NOT NULL, -- none, rule, learned or stopping
    sequence BIGINT NOT NULL, -- number of the sequence, from 0
    job BIGINT NOT NULL, -- number of the job within it, from 0
    arrive BIGINT NOT NULL, -- units of time
    length BIGINT NOT NULL, -- real run time, units of time
    procs BIGINT NOT NULL, -- units of processors
    first_prediction BIGINT NOT NULL, -- run time as predicted before it ran, units of time
    finish BIGINT NOT NULL, -- units of time
    wait BIGINT NOT NULL, -- finish - arrive - length, units of time
    kills BIGINT NOT NULL, -- times it was killed
    killed_after BIGINT NOT NULL, -- units of time that the last kill threw away
);

-- [topology]
-- Neural Simulated Annealing's protocol: what each way of choosing nodes costs in hops, window by window and in a cluster of its own.
CREATE TABLE IF NOT EXISTS experiments.topology (
    tree VARCHAR NOT NULL, -- paper or code: the tree and the costs of the paper's text, or of its public code
    protocol VARCHAR NOT NULL, -- window, where all methods get the same windows, or closed_loop, where each lives with what it leaves idle
    method VARCHAR NOT NULL, -- how nodes are chosen; ideal has each job alone on an empty cluster
    seed BIGINT NOT NULL, -- of the experiment
    epoch BIGINT NOT NULL, -- from 0; each begins with an empty cluster
    cases BIGINT NOT NULL, -- windows, or jobs of the closed loop
    cost DOUBLE NOT NULL, -- mean cost of a window, or of a job of the closed loop, 1,000 for a hop
    of_sequential DOUBLE NOT NULL, -- the same over that of the sequential assignment in this epoch
    average_wait_s DOUBLE, -- mean wait, seconds; NULL for windows and for ideal
    p99_wait_s DOUBLE, -- 99th percentile of the waits, seconds
    max_wait_s DOUBLE, -- longest wait, seconds
);

-- [verdicts]
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

-- [window_costs]
-- What policies cost on windows, or blocks of one replay, that judge them, one row per policy, training seed and window.
CREATE TABLE IF NOT EXISTS experiments.window_costs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    experiment VARCHAR NOT NULL, -- held_out, published, published_seen or transfer: see docs/guides/policies.md
    rules VARCHAR NOT NULL, -- replay rules: standard or rlscheduler
    backfill VARCHAR NOT NULL, -- backfilling rule
    goal VARCHAR NOT NULL, -- what the cost is; utilisation counts negative
    policy VARCHAR NOT NULL, -- a heuristic, key (tuned), ppo, evolution, imitation, or hindsight
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used
    trained_on VARCHAR, -- source of a policy that was trained or tuned; NULL for a heuristic
    seed BIGINT, -- training seed; NULL for a heuristic
    window_number BIGINT NOT NULL, -- from 0, by position
    first_position BIGINT NOT NULL, -- position of the window's first job among the replayable jobs
    window_jobs BIGINT NOT NULL, -- consecutive jobs in the window
    cost DOUBLE NOT NULL, -- mean over the window's jobs; seconds for wait and turnaround
);
