-- Suspensions of jobs of one PBS source, from the table `suspended_jobs` (core.suspended_pbs); seconds since 1970 ($clock_zero).
SELECT
    $source AS source,
    job_id,
    $clock_zero::TIMESTAMP + to_seconds(submit_s) AS submit_time,
    $clock_zero::TIMESTAMP + to_seconds(start_s) AS start_time,
    $clock_zero::TIMESTAMP + to_seconds(from_s) AS from_time,
    $clock_zero::TIMESTAMP + to_seconds(to_s) AS to_time
FROM suspended_jobs
