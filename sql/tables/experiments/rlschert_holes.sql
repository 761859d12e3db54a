-- Free processors over time, summed up, in the first test sequences under each scheduler (figure 12a).
CREATE TABLE IF NOT EXISTS experiments.rlschert_holes (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    policy VARCHAR NOT NULL, -- as in experiments.rlschert, experiment main
    kill VARCHAR NOT NULL, -- none, rule, learned or stopping
    unit BIGINT NOT NULL, -- unit of time, from 0
    holes DOUBLE NOT NULL, -- free processors up to and with this unit, mean of the sequences; after its end a sequence adds none
);
