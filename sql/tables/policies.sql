-- [policy_events]
-- What became of the trained policies and agents: who is champion from when on, and why. A history: it cannot be recomputed from the logs.
CREATE TABLE IF NOT EXISTS policies.policy_events (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    event BIGINT NOT NULL, -- number, from 1, in the order of happening
    kind VARCHAR NOT NULL, -- first, promoted, refused, or replaced: another goal, other rules, a lost file. Of agents: `backfilling first`
    training BIGINT NOT NULL, -- training that challenged
    seed BIGINT NOT NULL, -- its best seed, by the jobs that choose
    goal VARCHAR NOT NULL, -- what both make small
    windows BIGINT, -- newest windows on which they were compared; NULL since whole replays decide
    judged_jobs BIGINT, -- newest jobs that neither has seen, over which they were compared; NULL before whole replays decided
    champion_cost DOUBLE, -- cost of the champion until then on them; NULL without one
    challenger_cost DOUBLE NOT NULL, -- cost of the challenger on them
    cost_difference DOUBLE, -- challenger minus champion; negative is better
    difference_low DOUBLE, -- lower end of its 95 % interval; NULL since whole replays decide
    difference_high DOUBLE, -- upper end, which had to be below 0; NULL since whole replays decide
    verdict VARCHAR, -- challenger over champion, promoted only if it dominates (docs/reference/semantics.md); NULL if not compared
    bounded_slowdown_ratio DOUBLE, -- bounded slowdown of the challenger over that of the champion
    wait_ratio DOUBLE, -- mean wait of the challenger over that of the champion
    sha256 VARCHAR NOT NULL, -- hash of the challenger's file
);

-- [population]
-- The newest population-based training of each source, one row per member and generation.
CREATE TABLE IF NOT EXISTS policies.population (
    source VARCHAR NOT NULL, -- source trained on
    generation BIGINT NOT NULL, -- generation, from 1
    member BIGINT NOT NULL, -- number of the member, from 0
    parent BIGINT, -- member of the generation before whose weights it went on from; NULL in the first one
    policy_rate DOUBLE NOT NULL, -- Adam learning rate of the policy
    entropy_bonus DOUBLE NOT NULL, -- weight of the entropy in the loss
    minibatch DOUBLE NOT NULL, -- decisions in a gradient step, before rounding
    cost DOUBLE NOT NULL, -- the goal on the jobs that choose, behind the generation's last epoch, best choice taken
    decisions BIGINT NOT NULL, -- recorded choices among at least two jobs, of all workers
    updates BIGINT NOT NULL, -- gradient steps taken
    sampled_cost DOUBLE NOT NULL, -- the goal, mean over the windows that were replayed
    approx_kl DOUBLE NOT NULL, -- mean change of log probability at the last update
    entropy DOUBLE NOT NULL, -- mean entropy of the choices at the last update, nats
    chosen BOOLEAN NOT NULL, -- whether its weights are those of the policy; false in all rows where that is what training started from
);

-- [priority_keys]
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
    keys_tried BIGINT NOT NULL, -- keys replayed
    trained_jobs BIGINT NOT NULL, -- replayable jobs before this position were open to the search
);

-- [scheduling_policies]
-- Cards of the trained policies and agents: one row per source, kind and seed of the newest training, and the champion's of each kind.
-- The layout tells the kind, which the view policies.learned_policies has as a column.
CREATE TABLE IF NOT EXISTS policies.scheduling_policies (
    source VARCHAR NOT NULL, -- source it was trained on
    training BIGINT NOT NULL, -- number of the training, from 1
    seed BIGINT NOT NULL, -- training seed
    method VARCHAR NOT NULL, -- ppo, evolution or imitation
    goal VARCHAR NOT NULL, -- what it makes small, see docs/guides/policies.md
    backfill VARCHAR NOT NULL, -- backfilling during training; of an agent that picks what it is, as pick:by=shortest,window=64-63
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used during training
    layout VARCHAR NOT NULL, -- what the network reads of jobs and cluster: picking is of agents that backfill, inspecting of inspectors
    trained_jobs BIGINT NOT NULL, -- replayable jobs before this position were open to training, choosing and judging
    epochs BIGINT NOT NULL, -- epochs trained
    best_epoch BIGINT NOT NULL, -- epoch whose weights were kept, by the jobs that choose; 0 for what it started from
    validation_cost DOUBLE NOT NULL, -- the goal on the jobs that choose, which lie in the training part
    newest BOOLEAN NOT NULL, -- whether it is of the newest training of its kind
    champion BOOLEAN NOT NULL, -- what `--policy learned`, `--backfill learned` or `--inspector learned` uses
    parameters VARCHAR NOT NULL, -- hyper-parameters, JSON; of an agent also `agent` and `base`, the policy beside it
    file VARCHAR NOT NULL, -- weights below warehouse/data
    sha256 VARCHAR NOT NULL, -- hash of that file, in hexadecimal
);

-- [training_curve]
-- The course of the newest training, one row per source, seed and epoch.
CREATE TABLE IF NOT EXISTS policies.training_curve (
    source VARCHAR NOT NULL, -- source trained on
    seed BIGINT NOT NULL, -- training seed
    epoch BIGINT NOT NULL, -- epoch, generation or pass, from 1
    phase VARCHAR NOT NULL, -- filtered (windows inside the range) or all
    decisions BIGINT NOT NULL, -- recorded choices among at least two jobs; 0 where the method records none
    sampled_cost DOUBLE NOT NULL, -- the goal, mean over the epoch's trajectories (ppo) or over the candidates (evolution), or the loss (imitation)
    validation_cost DOUBLE, -- the goal, mean over the jobs that choose, best choice taken; NULL where not measured
    approx_kl DOUBLE NOT NULL, -- ppo: mean change of log probability at the last update
    entropy DOUBLE NOT NULL, -- ppo: mean entropy of the choices, nats
    updates BIGINT NOT NULL, -- gradient steps taken
);

-- [trajectory_ranges]
-- The range of the trajectory filter: training starts on windows inside it, then takes all.
CREATE TABLE IF NOT EXISTS policies.trajectory_ranges (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    goal VARCHAR NOT NULL, -- what a window's cost is, see docs/guides/policies.md
    windows BIGINT NOT NULL, -- windows replayed
    kept BIGINT NOT NULL, -- windows inside the range
    median_cost DOUBLE NOT NULL, -- over the windows; lower end of the range
    mean_cost DOUBLE NOT NULL, -- over the windows
    skewness DOUBLE NOT NULL, -- of the distribution; the filter matters when it is large
    high_cost DOUBLE NOT NULL, -- 2 x mean; upper end of the range
);

-- [trajectory_windows]
-- Candidate training windows and what SJF makes of them (RLScheduler, section IV-C).
CREATE TABLE IF NOT EXISTS policies.trajectory_windows (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    first_position BIGINT NOT NULL, -- position of the window's first job among the replayable jobs, from 0
    jobs BIGINT NOT NULL, -- consecutive jobs in the window
    sjf_cost DOUBLE NOT NULL, -- the goal on the window under SJF
    kept BOOLEAN NOT NULL, -- whether it lies inside (median, 2 x mean)
);

-- [worker_iterations]
-- Epochs of the newest population-based training of each source in which a worker stopped before its last window.
CREATE TABLE IF NOT EXISTS policies.worker_iterations (
    source VARCHAR NOT NULL, -- source trained on
    generation BIGINT NOT NULL, -- generation, from 1
    member BIGINT NOT NULL, -- number of the member, from 0
    epoch BIGINT NOT NULL, -- epoch of the member, from 1
    worker BIGINT NOT NULL, -- number of the worker, from 0
    families BIGINT NOT NULL, -- windows that it replayed, each with all its siblings
);
