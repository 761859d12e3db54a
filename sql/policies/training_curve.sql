-- The course of training, one row per source, seed and epoch.
CREATE TABLE IF NOT EXISTS policies.training_curve (
    source VARCHAR NOT NULL, -- source trained on
    seed BIGINT NOT NULL, -- training seed
    epoch BIGINT NOT NULL, -- from 1
    phase VARCHAR NOT NULL, -- filtered (windows inside the range) or all
    decisions BIGINT NOT NULL, -- recorded choices among at least two jobs
    sampled_bounded_slowdown DOUBLE NOT NULL, -- mean over the epoch's sampled trajectories
    validation_bounded_slowdown DOUBLE NOT NULL, -- mean over the validation windows, best choice taken
    approx_kl DOUBLE NOT NULL, -- mean change of log probability at the last update
    entropy DOUBLE NOT NULL, -- mean entropy of the choices, nats
    updates BIGINT NOT NULL, -- gradient steps taken before the KL limit
);
