-- The jobs of two saved runs of one source side by side, those that started in both; the runs must have the same trace_sha256.
-- Jobs are paired by their place in the replay, so that a log that was read again in between does no harm.
WITH placed AS (
    SELECT run, job_index, row_number() OVER (PARTITION BY run ORDER BY job_index) AS place, start_time, end_time, wait_s, procs
    FROM replay.run_jobs
    WHERE source = $source AND run IN ($run_a, $run_b)
)

SELECT
    epoch(a.start_time)::BIGINT - a.wait_s AS submit_s,
    epoch(a.end_time - a.start_time)::BIGINT AS runtime_s,
    a.procs,
    a.wait_s AS wait_a_s,
    b.wait_s AS wait_b_s,
    jobs.queue,
    jobs.user_name,
    jobs.account
FROM placed AS a
INNER JOIN placed AS b ON a.place = b.place
LEFT JOIN core.jobs AS jobs ON jobs.source = $source AND a.job_index = jobs.job_index
WHERE a.run = $run_a AND b.run = $run_b AND a.start_time IS NOT NULL AND b.start_time IS NOT NULL
ORDER BY a.place
