-- One row when no job of the source was accepted.
SELECT coalesce(sum(accepted), 0) AS accepted
FROM raw.log_files
WHERE source = $source
HAVING coalesce(sum(accepted), 0) = 0
