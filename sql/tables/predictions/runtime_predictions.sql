-- The predictions in use, one per replayable job: the champion's for jobs submitted after what it was trained on, those of the
-- evaluation for jobs before, so that every model was fitted before the job was submitted.
CREATE TABLE IF NOT EXISTS predictions.runtime_predictions (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    predictor VARCHAR NOT NULL, -- name of the predictor
    version BIGINT, -- version of the champion (predictions.model_versions), NULL where it is from the evaluation
    predicted_runtime_s DOUBLE NOT NULL, -- predicted run time, seconds, at most the requested time
    runtime_p05_s DOUBLE NOT NULL, -- 5 % quantile of the run time, seconds, as predicted at submission
    runtime_p10_s DOUBLE NOT NULL, -- 10 % quantile of the run time, seconds
    runtime_p25_s DOUBLE NOT NULL, -- 25 % quantile of the run time, seconds
    runtime_p50_s DOUBLE NOT NULL, -- median of the run time, seconds
    runtime_p75_s DOUBLE NOT NULL, -- 75 % quantile of the run time, seconds
    runtime_p80_s DOUBLE NOT NULL, -- 80 % quantile of the run time, seconds
    runtime_p90_s DOUBLE NOT NULL, -- 90 % quantile of the run time, seconds
    runtime_p95_s DOUBLE NOT NULL, -- 95 % quantile of the run time, seconds
);
