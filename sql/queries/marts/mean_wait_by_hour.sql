-- Mean wait in hours of one source by weekday and hour of the submission, all months together.
SELECT weekday, hour_of_day, sum(jobs * average_wait_s) / sum(jobs) / 3600 AS hours
FROM marts.waits_by_hour
WHERE source = $source
GROUP BY weekday, hour_of_day
ORDER BY weekday, hour_of_day
