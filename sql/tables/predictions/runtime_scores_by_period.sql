-- Errors of run-time predictions over time: one row per predictor and period of the evaluation.
CREATE TABLE IF NOT EXISTS predictions.runtime_scores_by_period (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    predictor VARCHAR NOT NULL, -- name of the predictor
    period_start TIMESTAMP NOT NULL, -- submissions from here on, UTC
    jobs BIGINT NOT NULL, -- jobs submitted in the period
    jobs_fitted BIGINT NOT NULL, -- jobs that had ended before it, on which the predictor was fitted, unless it fell back
    fallback_jobs BIGINT, -- all jobs or none: those that similar_jobs predicted in its place, because fewer than 200 had ended. NULL where they were not counted yet
    mean_absolute_error_s DOUBLE NOT NULL, -- mean of |predicted - true|, seconds
    mean_accuracy DOUBLE NOT NULL, -- mean of min(predicted, true) / max(predicted, true)
    underestimated_share DOUBLE NOT NULL, -- share of jobs that ran longer than predicted
    pinball_loss_s DOUBLE NOT NULL, -- mean pinball loss over all quantile levels, seconds
    coverage_80 DOUBLE NOT NULL, -- share of jobs that ran no longer than their 80 % quantile
);
