-- Waits predicted for single jobs at their submission, from what was known then, beside what became of them.
CREATE TABLE IF NOT EXISTS predictions.wait_predictions (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    predicted_at TIMESTAMP NOT NULL, -- moment of the prediction, the submission, UTC
    replay_p10_s DOUBLE NOT NULL, -- 10 % quantile of the replayed waits, seconds
    replay_p50_s DOUBLE NOT NULL, -- median of the same
    replay_p90_s DOUBLE NOT NULL, -- 90 % quantile of the same
    wait_p10_s DOUBLE NOT NULL, -- 10 % quantile of the predicted wait, calibrated, seconds: lower end of the 80 % interval
    wait_p25_s DOUBLE NOT NULL, -- 25 % quantile of the same
    wait_p50_s DOUBLE NOT NULL, -- median of the same, the prediction
    wait_p75_s DOUBLE NOT NULL, -- 75 % quantile of the same
    wait_p90_s DOUBLE NOT NULL, -- 90 % quantile of the same, upper end of the 80 % interval
    similar_p10_s DOUBLE NOT NULL, -- 10 % quantile of the waits of similar recent jobs, seconds
    similar_p50_s DOUBLE NOT NULL, -- median of the same
    similar_p90_s DOUBLE NOT NULL, -- 90 % quantile of the same
    similar_mean_s DOUBLE NOT NULL, -- their mean, the baseline
    wait_s BIGINT NOT NULL, -- true wait, seconds
);
