-- How well run times are predicted as in operation: every job by a model fitted on what had ended before its period. The same
-- jobs for every predictor; definitions in docs/reference/semantics.md.
CREATE TABLE IF NOT EXISTS predictions.runtime_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    predictor VARCHAR NOT NULL, -- name of the predictor
    user_class VARCHAR NOT NULL, -- 'all users', or users with so many jobs in the trace
    jobs BIGINT NOT NULL, -- jobs scored
    fallback_jobs BIGINT, -- of these, predicted by similar_jobs in its place, because fewer than 200 jobs had ended. NULL where they were not counted yet
    mean_absolute_error_s DOUBLE NOT NULL, -- mean of |predicted - true|, seconds
    median_absolute_error_s DOUBLE NOT NULL, -- median of the same, seconds
    mean_absolute_percentage_error DOUBLE NOT NULL, -- mean of |predicted - true| / true, 1 for 100 %
    mean_accuracy DOUBLE NOT NULL, -- prediction accuracy ratio: mean of min(predicted, true) / max(predicted, true), 1 is perfect
    underestimated_share DOUBLE NOT NULL, -- share of jobs that ran longer than predicted
    pinball_loss_s DOUBLE NOT NULL, -- mean pinball loss over all quantile levels, seconds
    coverage_50 DOUBLE NOT NULL, -- share of jobs that ran no longer than their 50 % quantile
    coverage_80 DOUBLE NOT NULL, -- the same of the 80 % quantile
    coverage_90 DOUBLE NOT NULL, -- the same of the 90 % quantile
    mae_gain_over_last_two_s DOUBLE, -- mean absolute error of last_two minus this one's, seconds; more is better
    mae_gain_low_s DOUBLE, -- lower end of its 95 % confidence interval, jobs resampled by user; NULL with fewer than five users
    mae_gain_high_s DOUBLE, -- upper end of the same
);
