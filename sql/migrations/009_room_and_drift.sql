-- New columns are empty in rows that are there: the shares of the waited time with enough idle processors in replay.fidelity, and what
-- is usual in predictions.model_drift.
SELECT 1;
