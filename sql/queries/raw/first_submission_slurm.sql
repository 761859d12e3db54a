-- Earliest submission of a job that the rows of one file tell of, seconds since 1970; of a requeued job the first one, which may
-- be in another file.
SELECT min(submit_s)
FROM (
    SELECT min(submit_s) AS submit_s FROM raw.slurm_jobs WHERE source = $source AND file = $file
    UNION ALL
    SELECT epoch(min(submit_time))::BIGINT AS submit_s FROM core.jobs WHERE source = $source AND file = $file
    UNION ALL
    SELECT min(submit_s) AS submit_s FROM core.repeats WHERE source = $source AND file = $file
)
