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
