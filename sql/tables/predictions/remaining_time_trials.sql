-- Remaining times of finished VASP runs as predicted at every tenth of their steps, by fits that had not seen them.
CREATE TABLE IF NOT EXISTS predictions.remaining_time_trials (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    predictor VARCHAR NOT NULL, -- as in predictions.remaining_time_scores
    seed BIGINT NOT NULL, -- of the split into systems and of the fits
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    ionic VARCHAR NOT NULL, -- single or multiple ionic steps, as was asked for
    progress DOUBLE NOT NULL, -- share of the electronic steps that were over: 0.1 to 1
    used_s DOUBLE NOT NULL, -- seconds since the start
    remaining_s DOUBLE NOT NULL, -- true remaining time, seconds
    remaining_p10_s DOUBLE NOT NULL, -- predicted: 10 % quantile, seconds
    remaining_p25_s DOUBLE NOT NULL, -- 25 %
    remaining_p50_s DOUBLE NOT NULL, -- median
    remaining_p75_s DOUBLE NOT NULL, -- 75 %
    remaining_p90_s DOUBLE NOT NULL, -- 90 %
    error DOUBLE NOT NULL, -- |used + median - whole| / whole run time (RLSchert, equation 12)
    split VARCHAR, -- as in predictions.remaining_time_scores
);
