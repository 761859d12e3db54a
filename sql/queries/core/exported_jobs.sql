-- All jobs of a source, for `tracehouse export` as Parquet.
SELECT * FROM core.jobs WHERE source = $source ORDER BY job_index
