timed_jobs AS (
    SELECT
        *,
        -- a log that tells the start of no job has one time for each, and that is the start: submissions stand for starts. Where
        -- other jobs have a start, nobody can say when a job without one ended, and it must not be known too early
        runtime_s > 0 AND count(start_time) OVER () = 0 AS started_at_submission,
        coalesce(start_time, CASE WHEN started_at_submission THEN submit_time END) AS taken_start_time,
        coalesce(end_time, CASE WHEN started_at_submission THEN submit_time + to_seconds(runtime_s) END) AS taken_end_time
    FROM core.jobs
    WHERE source = $source
),
