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
