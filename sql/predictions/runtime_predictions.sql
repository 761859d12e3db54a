-- One predicted run time per replayable job. Jobs of the training part are predicted from their user's last two
-- jobs, jobs after it by the model, so that no prediction knows the future.
CREATE TABLE IF NOT EXISTS predictions.runtime_predictions (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    predictor VARCHAR NOT NULL, -- last_two or xgboost
    predicted_runtime_s DOUBLE NOT NULL, -- predicted run time, seconds, at most the requested wall time
);
