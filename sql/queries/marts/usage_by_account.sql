-- Use of one source by account, all months together, the largest first.
SELECT
    account,
    sum(jobs)::BIGINT AS jobs,
    sum(core_hours) AS core_hours,
    sum(gpu_hours) AS gpu_hours,
    sum(cpu_hours) / nullif(sum(measured_core_hours), 0) AS cpu_efficiency
FROM marts.usage
WHERE source = $source
GROUP BY account
ORDER BY core_hours DESC, account
