-- [model_drift]
-- How far the newest jobs are from those that the champion learned from. One row per input, and one for its error.
CREATE TABLE IF NOT EXISTS predictions.model_drift (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    version BIGINT NOT NULL, -- the champion that it is about
    data_until TIMESTAMP NOT NULL, -- submission of the newest job that was known, UTC
    measure VARCHAR NOT NULL, -- psi (population stability index of an input) or error
    input VARCHAR NOT NULL, -- column of the features, or mean_absolute_error_s for the error
    value DOUBLE NOT NULL, -- psi is 0 for no change, and above 0.25 for a shift. error is the mean error on the newest jobs over that on its own test jobs
    jobs BIGINT NOT NULL, -- newest jobs
    usual DOUBLE, -- psi: the largest of past stretches of as many jobs, each against the rest; NULL where there were too few jobs, and for the error
);

-- [model_events]
-- What became of the models: who was champion from when on, and why. A history, as predictions.model_versions.
CREATE TABLE IF NOT EXISTS predictions.model_events (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    event BIGINT NOT NULL, -- number, from 1, in the order of happening
    data_until TIMESTAMP NOT NULL, -- submission of the newest job that was known, UTC
    kind VARCHAR NOT NULL, -- first (also when the champion's file is lost), promoted, refused or rolled back
    version BIGINT NOT NULL, -- version that it happened to
    champion BIGINT NOT NULL, -- version that is champion from now on
    mae_gain_s DOUBLE, -- mean absolute error of the champion before minus this version's, on the same newest held-out jobs, seconds
    mae_gain_low_s DOUBLE, -- lower end of its 95 % confidence interval; promoted only if above 0
    mae_gain_high_s DOUBLE, -- upper end of the same
    reason VARCHAR NOT NULL, -- in words
);

-- [model_versions]
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

-- [prequential_predictions]
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

-- [remaining_time_models]
-- The predictor of remaining times of each folder of VASP runs, as it was trained last.
CREATE TABLE IF NOT EXISTS predictions.remaining_time_models (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    predictor VARCHAR NOT NULL, -- inputs_only, progress or multimodal
    seed BIGINT NOT NULL, -- of the fit
    runs BIGINT NOT NULL, -- finished runs that it learned from
    systems BIGINT NOT NULL, -- different systems among them
    file VARCHAR NOT NULL, -- below warehouse/data
    sha256 VARCHAR NOT NULL, -- of the file
);

-- [remaining_time_scores]
-- Errors of predicted remaining times by predictor, kind of run and progress; progress 0 is the prediction before the run.
CREATE TABLE IF NOT EXISTS predictions.remaining_time_scores (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    predictor VARCHAR NOT NULL, -- inputs_only, progress or multimodal, or the rivals ends_now (nothing is left), constant_median (all take the median whole run time of those learned from) and constant_share (all are at the same share of their time)
    ionic VARCHAR NOT NULL, -- single, multiple or all
    progress DOUBLE NOT NULL, -- share of the electronic steps that were over, 0 before the run, from the parameters
    runs BIGINT NOT NULL, -- runs that the figures rest on
    systems BIGINT NOT NULL, -- different systems (elements, ions, electrons) among them
    seeds BIGINT NOT NULL, -- splits that the figures are the mean of
    mape DOUBLE NOT NULL, -- mean absolute percentage error of the whole run time, percent
    median_error DOUBLE NOT NULL, -- median of the same, percent
    coverage DOUBLE, -- share of runs whose true remaining time lies between the 10 % and the 90 % quantile; NULL before the run
    split VARCHAR, -- unseen (no run of the system was learned from) or seen (others of it were, and only such runs are counted); NULL in rows of older releases, which are all unseen
);

-- [remaining_time_trials]
-- Remaining times of finished VASP runs as predicted at every tenth of their steps, by fits that had not seen them.
CREATE TABLE IF NOT EXISTS predictions.remaining_time_trials (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    predictor VARCHAR NOT NULL, -- as in predictions.remaining_time_scores
    seed BIGINT NOT NULL, -- of the split into systems and of the fits
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    ionic VARCHAR NOT NULL, -- single or multiple ionic steps, as was asked for
    progress DOUBLE NOT NULL, -- share of the electronic steps that were over: 0.1 to 1
    used_s DOUBLE NOT NULL, -- seconds since the start
    remaining_s DOUBLE NOT NULL, -- true remaining time, seconds
    remaining_p10_s DOUBLE NOT NULL, -- predicted: 10 % quantile, seconds
    remaining_p25_s DOUBLE NOT NULL, -- 25 %
    remaining_p50_s DOUBLE NOT NULL, -- median
    remaining_p75_s DOUBLE NOT NULL, -- 75 %
    remaining_p90_s DOUBLE NOT NULL, -- 90 %
    error DOUBLE NOT NULL, -- |used + median - whole| / whole run time (RLSchert, equation 12)
    split VARCHAR, -- as in predictions.remaining_time_scores
);

-- [remaining_times]
-- How long VASP runs without an end still need: those that run, and what those that were cut off would have needed.
CREATE TABLE IF NOT EXISTS predictions.remaining_times (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    state VARCHAR NOT NULL, -- as in raw.vasp_runs
    at_time TIMESTAMP NOT NULL, -- moment that the prediction is for: the last change of the OUTCAR, UTC
    used_s DOUBLE NOT NULL, -- seconds since the start of this launch; of one that was started again, those of its steps
    electronic_steps BIGINT NOT NULL, -- steps that were over
    ionic_steps BIGINT NOT NULL, -- steps that were over
    predictor VARCHAR NOT NULL, -- inputs_only, progress or multimodal
    remaining_p10_s DOUBLE NOT NULL, -- predicted remaining time: 10 % quantile, seconds
    remaining_p25_s DOUBLE NOT NULL, -- 25 %
    remaining_p50_s DOUBLE NOT NULL, -- median
    remaining_p75_s DOUBLE NOT NULL, -- 75 %
    remaining_p90_s DOUBLE NOT NULL, -- 90 %
    expected_end TIMESTAMP NOT NULL, -- at_time and the median, UTC
);

-- [runtime_predictions]
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

-- [runtime_scores]
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

-- [runtime_scores_by_period]
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

-- [training_splits]
-- Where a source's jobs are cut: policies learn and choose before it, and are compared after it.
CREATE TABLE IF NOT EXISTS predictions.training_splits (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    test_job_index BIGINT NOT NULL, -- first job after the cut
    train_share DOUBLE NOT NULL, -- share of the jobs before it
);

-- [wait_predictions]
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

-- [wait_scores]
-- How well waits are predicted at submission, on jobs drawn from the last part of the log; the same jobs for every predictor.
CREATE TABLE IF NOT EXISTS predictions.wait_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    predictor VARCHAR NOT NULL, -- replay, calibrated (replay and circumstances, corrected by what became of jobs alike), similar_recent (mean wait of the last 50 started jobs of the same classes of size and request), similar_median (their median), or zero (every job starts at once)
    jobs BIGINT NOT NULL, -- jobs scored
    median_absolute_error_s DOUBLE NOT NULL, -- median of |predicted - true wait|, seconds; what a median is judged by
    mean_absolute_error_s DOUBLE NOT NULL, -- mean of the same, seconds; what a mean is judged by
    within_10_min_share DOUBLE NOT NULL, -- share of jobs whose wait was predicted to 600 s
    coverage_80 DOUBLE NOT NULL, -- share of true waits between the 10 % and the 90 % quantile, ends included
    below_share DOUBLE NOT NULL, -- share of true waits below the interval
    above_share DOUBLE NOT NULL, -- share of true waits above it
    mean_interval_s DOUBLE NOT NULL, -- mean length of the interval, seconds
    statistic VARCHAR, -- median, mean or constant (zero, judged by both errors); NULL in rows of older releases
);
