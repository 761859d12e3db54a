-- Core hours of one source by month and account.
SELECT month, account, sum(core_hours) AS core_hours
FROM marts.usage
WHERE source = $source
GROUP BY month, account
ORDER BY month, account
