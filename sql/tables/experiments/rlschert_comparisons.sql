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
