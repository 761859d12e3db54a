-- The last files of one source, by name.
SELECT file, size_bytes, lines, accepted, kept, ignored, rejected
FROM raw.log_files
WHERE source = $source
ORDER BY file DESC
LIMIT 30
