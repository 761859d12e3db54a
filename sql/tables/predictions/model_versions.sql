-- Every run-time model that was trained to become champion, with what it learned from and how good it was. A history: unlike other
-- tables it cannot be recomputed from the logs.
CREATE TABLE IF NOT EXISTS predictions.model_versions (
    source VARCHAR NOT NULL, -- source it was trained on
    version BIGINT NOT NULL, -- number, from 1, in the order of training
    predictor VARCHAR NOT NULL, -- name of the predictor
    options VARCHAR NOT NULL, -- hyper-parameters and seeds, JSON
    feature_names VARCHAR NOT NULL, -- columns it reads, JSON
    trained_from TIMESTAMP NOT NULL, -- submission of the first job it was trained on, UTC
    trained_until TIMESTAMP NOT NULL, -- it learned from jobs that had ended before this, and may predict jobs submitted from here on, UTC
    jobs_trained BIGINT NOT NULL, -- jobs it was trained on
    data_sha256 VARCHAR NOT NULL, -- hash of the rows it was trained on, in hexadecimal
    tested_until TIMESTAMP NOT NULL, -- submission of the last job it was tested on, UTC; the first was submitted after trained_until
    jobs_tested BIGINT NOT NULL, -- jobs it was tested on
    mean_absolute_error_s DOUBLE NOT NULL, -- mean of |predicted - true| on those, seconds
    median_absolute_error_s DOUBLE NOT NULL, -- median of the same, seconds
    underestimated_share DOUBLE NOT NULL, -- share of those that ran longer than predicted
    pinball_loss_s DOUBLE NOT NULL, -- mean pinball loss over all quantile levels, seconds
    file VARCHAR NOT NULL, -- model file below warehouse/data
    sha256 VARCHAR NOT NULL, -- hash of that file, in hexadecimal
);
