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
    versions.*,
    newest.data_until -- submission of the newest job that was known when it was last decided, UTC
FROM newest
INNER JOIN predictions.model_versions AS versions ON newest.source = versions.source AND newest.version = versions.version
