-- A new table, experiments.verdicts, is empty. The next run of each experiment fills it.
-- Uses of predictions are chosen under guards, and judged inside one replay of the whole log. The next evaluation of a source
-- searches again.
DROP TABLE IF EXISTS replay.prediction_search;
-- Replays in earlier versions began without a queue.
ALTER TABLE replay.runs ADD COLUMN IF NOT EXISTS waiting_jobs BIGINT DEFAULT 0;
-- Nobody inspected picks, and no agent was learned.
ALTER TABLE replay.runs ADD COLUMN IF NOT EXISTS inspector VARCHAR;
ALTER TABLE replay.runs ADD COLUMN IF NOT EXISTS agent_sha256 VARCHAR;
