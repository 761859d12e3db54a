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
