-- Jobs of one source by weekday and hour of the submission, and by size: processors up to the next power of two.
SELECT
    facts.weekday,
    facts.hour_of_day,
    CAST(pow(2, ceil(log2(jobs.procs))) AS BIGINT) AS procs_up_to,
    count(*) AS jobs
FROM core.jobs AS jobs
INNER JOIN marts.job_facts AS facts ON jobs.source = facts.source AND jobs.job_index = facts.job_index
WHERE jobs.source = $source AND jobs.procs > 0
GROUP BY facts.weekday, facts.hour_of_day, procs_up_to
ORDER BY facts.weekday, facts.hour_of_day, procs_up_to
