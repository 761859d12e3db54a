-- Jobs of one source with what two periods are compared by. Seconds are of the log's own clock.
SELECT
    epoch(jobs.submit_time - sources.clock_zero)::BIGINT AS submit_s,
    facts.wait_s,
    facts.queue,
    facts.account,
    facts.user_name,
    facts.size_class,
    facts.status,
    facts.core_hours
FROM marts.job_facts AS facts
INNER JOIN core.jobs AS jobs ON facts.source = jobs.source AND facts.job_index = jobs.job_index
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE facts.source = $source
ORDER BY jobs.job_index
