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
