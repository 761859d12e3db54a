-- Errors of predicted remaining times by predictor, kind of run and progress; progress 0 is the prediction before the run.
CREATE TABLE IF NOT EXISTS predictions.remaining_time_scores (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    predictor VARCHAR NOT NULL, -- inputs_only, progress or multimodal, or the rivals ends_now (nothing is left), constant_median (all take the median whole run time of those learned from) and constant_share (all are at the same share of their time)
    ionic VARCHAR NOT NULL, -- single, multiple or all
    progress DOUBLE NOT NULL, -- share of the electronic steps that were over, 0 before the run, from the parameters
    runs BIGINT NOT NULL, -- runs that the figures rest on
    systems BIGINT NOT NULL, -- different systems (elements, ions, electrons) among them
    seeds BIGINT NOT NULL, -- splits that the figures are the mean of
    mape DOUBLE NOT NULL, -- mean absolute percentage error of the whole run time, percent
    median_error DOUBLE NOT NULL, -- median of the same, percent
    coverage DOUBLE, -- share of runs whose true remaining time lies between the 10 % and the 90 % quantile; NULL before the run
    split VARCHAR, -- unseen (no run of the system was learned from) or seen (others of it were, and only such runs are counted); NULL in rows of older releases, which are all unseen
);
