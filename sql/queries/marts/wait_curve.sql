-- How many jobs of one source started within how long, by size class: step k is a wait of at most 2^(k / 2) minutes.
SELECT
    facts.size_class,
    greatest(ceil(2 * log2(greatest(jobs.wait_s, 1) / 60)), 0)::BIGINT AS step,
    count(*) AS jobs
FROM core.jobs AS jobs
INNER JOIN marts.job_facts AS facts ON jobs.source = facts.source AND jobs.job_index = facts.job_index
WHERE jobs.source = $source AND jobs.start_time IS NOT NULL AND jobs.wait_s >= 0
GROUP BY facts.size_class, step
ORDER BY facts.size_class, step
