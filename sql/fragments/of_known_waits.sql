FROM marts.job_facts
WHERE wait_s IS NOT NULL
GROUP BY ALL
