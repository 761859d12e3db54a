timed_jobs AS (
    SELECT
        *,
        -- Some logs have no start of any job. Then the time of submission is taken as the start, so that users have a history.
        -- Where other jobs have a start, a job without one keeps none. Its end is unknown, and a guess could be too early, so
        -- that features would use what nobody knew yet.
        runtime_s > 0 AND count(start_time) OVER () = 0 AS started_at_submission,
        coalesce(start_time, CASE WHEN started_at_submission THEN submit_time END) AS taken_start_time,
        coalesce(end_time, CASE WHEN started_at_submission THEN submit_time + to_seconds(runtime_s) END) AS taken_end_time
    FROM core.jobs
    WHERE source = $source
),
