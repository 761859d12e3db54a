-- Replayed jobs that start before their submission.
SELECT schedules.policy, schedules.estimates, schedules.job_index, schedules.start_time, jobs.submit_time
FROM replay.schedules AS schedules
INNER JOIN core.jobs AS jobs ON schedules.source = jobs.source AND schedules.job_index = jobs.job_index
WHERE schedules.source = $source AND (schedules.start_time < jobs.submit_time OR schedules.wait_s < 0)
ORDER BY ALL
