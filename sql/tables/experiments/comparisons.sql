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
