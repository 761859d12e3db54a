-- What the predictor that serves would have predicted of every job as in operation: each by a model fitted on what had ended
-- before its period. Quantiles are as the model gives them, before calibration.
CREATE TABLE IF NOT EXISTS predictions.prequential_predictions (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    predictor VARCHAR NOT NULL, -- name of the predictor that made it: similar_jobs where fewer than 200 jobs had ended to fit the serving one on
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
