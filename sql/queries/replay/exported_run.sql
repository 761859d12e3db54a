-- The jobs of a saved run with the times that they have in it, for `tracehouse export --run`. Those of the log come after them. Where a
-- run changed the load, a job is submitted when the run submitted it.
SELECT
    jobs.* REPLACE (
        coalesce(replayed.start_time - to_seconds(replayed.wait_s), jobs.submit_time) AS submit_time,
        replayed.start_time AS start_time,
        replayed.end_time AS end_time,
        replayed.wait_s AS wait_s,
        epoch(replayed.end_time)::BIGINT - epoch(replayed.start_time)::BIGINT AS runtime_s,
        replayed.procs AS procs
    ),
    replayed.run,
    replayed.backfilled,
    jobs.submit_time AS logged_submit_time,
    jobs.start_time AS logged_start_time,
    jobs.end_time AS logged_end_time,
    jobs.wait_s AS logged_wait_s
FROM replay.run_jobs AS replayed
INNER JOIN core.jobs AS jobs ON replayed.source = jobs.source AND replayed.job_index = jobs.job_index
WHERE replayed.source = $source AND replayed.run = $run
ORDER BY jobs.job_index
