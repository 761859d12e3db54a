-- Errors of run-time predictors over time, each beside the user's last two jobs in the same period.
CREATE OR REPLACE VIEW marts.prediction_error AS
SELECT
    scores.source, -- name of the source in the catalogue
    scores.predictor, -- name of the predictor
    scores.period_start, -- submissions from here on, UTC
    scores.jobs, -- jobs submitted in the period
    scores.jobs_fitted, -- jobs that had ended before it, on which the predictor was fitted, unless it fell back
    scores.fallback_jobs, -- jobs predicted by similar_jobs in its place, because fewer than 200 had ended: all or none
    scores.mean_absolute_error_s, -- mean of |predicted - true|, seconds
    scores.mean_absolute_error_s / nullif(baseline.mean_absolute_error_s, 0) AS error_over_last_two, -- the same over that of last_two in the period; below 1 is better
    scores.mean_accuracy, -- mean of min(predicted, true) / max(predicted, true)
    scores.underestimated_share, -- share of jobs that ran longer than predicted
    scores.coverage_80, -- share of jobs that ran no longer than their 80 % quantile
FROM predictions.runtime_scores_by_period AS scores
LEFT JOIN predictions.runtime_scores_by_period AS baseline
    ON
        scores.source = baseline.source
        AND scores.period_start = baseline.period_start
        AND baseline.predictor = 'last_two'
