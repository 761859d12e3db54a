-- The ledger has the settings of each log file in words (raw.log_files.settings), where it had their hash. Rows of files that are
-- there get them when they are read again, and rows of files that are gone when the catalogue is corrected. New columns are
-- empty, but for what earlier replays knew no other word for: jobs went before a blocked one by
-- their estimates, and were submitted as in the log.
ALTER TABLE replay.runs ADD COLUMN IF NOT EXISTS admit_by VARCHAR;
ALTER TABLE replay.runs ADD COLUMN IF NOT EXISTS load DOUBLE DEFAULT 1;
UPDATE replay.runs SET admit_by = 'estimate' WHERE reserve_by IS NOT NULL;
