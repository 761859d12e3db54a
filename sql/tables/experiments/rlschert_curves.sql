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
