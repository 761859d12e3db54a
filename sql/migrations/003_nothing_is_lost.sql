-- The ledger has the settings of each log file in words (raw.log_files.settings), where it had their hash. Rows of files that are
-- there get them when they are read again, and rows of files that are gone when the catalogue is corrected. New columns are empty.
SELECT 'nothing is renamed, and nothing filled';
