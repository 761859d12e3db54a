starts AS (
    -- the first start that is found ends the search, so that statements about a slice of a large log may ask, too
    SELECT NOT exists(FROM core.jobs WHERE source = $source AND start_time IS NOT NULL) AS are_unknown
),

timed_jobs AS (
    SELECT
        jobs.*,
        -- Some logs have no start of any job. Then the time of submission is taken as the start, so that users have a history.
        -- Where other jobs have a start, a job without one keeps none. Its end is unknown, and a guess could be too early, so
        -- that features would use what nobody knew yet.
        jobs.runtime_s > 0 AND starts.are_unknown AS started_at_submission,
        coalesce(jobs.start_time, CASE WHEN started_at_submission THEN jobs.submit_time END) AS taken_start_time,
        coalesce(jobs.end_time, CASE WHEN started_at_submission THEN jobs.submit_time + to_seconds(jobs.runtime_s) END)
            AS taken_end_time
    FROM core.jobs AS jobs
    CROSS JOIN starts
    WHERE jobs.source = $source
),
