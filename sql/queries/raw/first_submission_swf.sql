-- Earliest submission of the rows of one file, seconds of the log's clock.
SELECT min(submit_s) FROM raw.swf_jobs WHERE source = $source AND file = $file
