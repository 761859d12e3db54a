-- [champions]
-- The run-time model in use of each source, with its card.
CREATE OR REPLACE VIEW predictions.champions AS
WITH newest AS (
    SELECT
        source,
        arg_max(champion, event) AS version,
        max(data_until) AS data_until
    FROM predictions.model_events
    GROUP BY source
)

SELECT
    versions.source, -- source it was trained on
    versions.version, -- number, from 1, in the order of training
    versions.predictor, -- name of the predictor
    versions.options, -- hyper-parameters and seeds, JSON
    versions.feature_names, -- columns it reads, JSON
    versions.trained_from, -- submission of the first job it was trained on, UTC
    versions.trained_until, -- it learned from jobs that had ended before this, and may predict jobs submitted from here on, UTC
    versions.jobs_trained, -- jobs it was trained on
    versions.data_sha256, -- hash of the rows it was trained on, in hexadecimal
    versions.tested_until, -- submission of the last job it was tested on, UTC; the first was submitted after trained_until
    versions.jobs_tested, -- jobs it was tested on
    versions.mean_absolute_error_s, -- mean of |predicted - true| on those, seconds
    versions.median_absolute_error_s, -- median of the same, seconds
    versions.underestimated_share, -- share of those that ran longer than predicted
    versions.pinball_loss_s, -- mean pinball loss over all quantile levels, seconds
    versions.file, -- model file below warehouse/data
    versions.sha256, -- hash of that file, in hexadecimal
    newest.data_until -- submission of the newest job that was known when it was last decided, UTC
FROM newest
INNER JOIN predictions.model_versions AS versions ON newest.source = versions.source AND newest.version = versions.version

-- [model_history]
-- The history of run-time models in one table: what happened, with the scores of the version that it happened to.
CREATE OR REPLACE VIEW predictions.model_history AS
SELECT
    events.source, -- name of the source in the catalogue
    events.event, -- number of the event, from 1
    events.data_until, -- submission of the newest job that was known, UTC
    events.kind, -- first, promoted, refused or rolled back
    events.version, -- version that it happened to
    events.champion, -- version that is champion from then on
    versions.predictor, -- name of the predictor
    versions.jobs_trained, -- jobs it was trained on
    versions.trained_until, -- it learned from jobs that had ended before this, UTC
    versions.mean_absolute_error_s, -- on the newest held-out jobs of its own test, seconds
    events.mae_gain_s, -- mean absolute error of the champion before minus this version's, seconds
    events.mae_gain_low_s, -- lower end of its 95 % confidence interval
    events.mae_gain_high_s, -- upper end of the same
    events.reason -- in words
FROM predictions.model_events AS events
INNER JOIN predictions.model_versions AS versions ON events.source = versions.source AND events.version = versions.version
ORDER BY events.source, events.event
