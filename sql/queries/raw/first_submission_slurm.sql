-- Earliest submission of the rows of one file, seconds since 1970.
SELECT min(submit_s) FROM raw.slurm_jobs WHERE source = $source AND file = $file
