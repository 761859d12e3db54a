-- How long VASP runs without an end still need: those that run, and what those that were cut off would have needed.
CREATE TABLE IF NOT EXISTS predictions.remaining_times (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    state VARCHAR NOT NULL, -- as in raw.vasp_runs
    at_time TIMESTAMP NOT NULL, -- moment that the prediction is for: the last change of the OUTCAR, UTC
    used_s DOUBLE NOT NULL, -- seconds since the start of this launch; of one that was started again, those of its steps
    electronic_steps BIGINT NOT NULL, -- steps that were over
    ionic_steps BIGINT NOT NULL, -- steps that were over
    predictor VARCHAR NOT NULL, -- inputs_only, progress or multimodal
    remaining_p10_s DOUBLE NOT NULL, -- predicted remaining time: 10 % quantile, seconds
    remaining_p25_s DOUBLE NOT NULL, -- 25 %
    remaining_p50_s DOUBLE NOT NULL, -- median
    remaining_p75_s DOUBLE NOT NULL, -- 75 %
    remaining_p90_s DOUBLE NOT NULL, -- 90 %
    expected_end TIMESTAMP NOT NULL, -- at_time and the median, UTC
);
