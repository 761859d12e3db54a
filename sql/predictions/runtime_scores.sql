-- How well run times are predicted on jobs after the training part, the same jobs for every predictor.
CREATE TABLE IF NOT EXISTS predictions.runtime_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    predictor VARCHAR NOT NULL, -- requested (the user's request), last_two (mean of the user's last two) or xgboost
    jobs BIGINT NOT NULL, -- jobs scored
    mean_absolute_error_s DOUBLE NOT NULL, -- mean of |predicted - true|, seconds
    median_absolute_error_s DOUBLE NOT NULL, -- median of the same, seconds
    mean_accuracy DOUBLE NOT NULL, -- mean of min(predicted, true) / max(predicted, true), 1 is perfect
    underestimated_share DOUBLE NOT NULL, -- share of jobs that ran longer than predicted
    mae_gain_over_last_two_s DOUBLE, -- mean absolute error of last_two minus this one's, seconds; more is better
    mae_gain_low_s DOUBLE, -- lower end of its 95 % confidence interval, jobs resampled by user; NULL with fewer than five users
    mae_gain_high_s DOUBLE, -- upper end of the same
);
