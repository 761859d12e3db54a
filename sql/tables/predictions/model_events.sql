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
