-- One row per trained runtime model.
CREATE TABLE IF NOT EXISTS predictions.runtime_models (
    source VARCHAR NOT NULL, -- source it was trained on
    predictor VARCHAR NOT NULL, -- xgboost
    first_job_index BIGINT NOT NULL, -- first job it was trained on
    test_job_index BIGINT NOT NULL, -- first job it has not seen; it predicts from here on
    trained_from TIMESTAMP NOT NULL, -- submission of the first job it was trained on, UTC
    trained_until TIMESTAMP NOT NULL, -- submission of the last one, UTC
    jobs_trained BIGINT NOT NULL, -- jobs it was trained on
    trees BIGINT NOT NULL, -- boosting rounds
    parameters VARCHAR NOT NULL, -- hyper-parameters and seed, JSON
    feature_names VARCHAR NOT NULL, -- columns of features.job_features it reads, JSON
    file VARCHAR NOT NULL, -- model file below warehouse/data
    sha256 VARCHAR NOT NULL, -- hash of that file, in hexadecimal
);
