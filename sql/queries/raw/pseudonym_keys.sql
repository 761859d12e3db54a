-- SHA-256 of each key that pseudonyms of the warehouse were made with, but for those of $replaced. '' where a log was read by the first
-- releases, which kept no hash of the key alone, and has pseudonyms all the same.
SELECT pseudonym_key AS key FROM core.sources WHERE pseudonym_key IS NOT NULL AND source <> $replaced
UNION
SELECT regexp_extract(settings, '"key": "([0-9a-f]{64})"', 1) FROM raw.log_files
WHERE source <> $replaced AND regexp_matches(settings, '"key": "[0-9a-f]{64}"')
UNION
SELECT '' FROM core.jobs
WHERE source <> $replaced AND regexp_full_match(user_name, 'user-[a-z2-7]{10}')
    AND source IN (SELECT source FROM raw.log_files WHERE NOT starts_with(settings, '{'));
