-- Features of one source in one pass: histories ordered by end time, joined as of the submission.
WITH jobs AS (
    SELECT
        jobs.*,
        coalesce(jobs.requested_procs, jobs.procs) AS wanted_procs,
        sources.time_zone
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    WHERE jobs.source = $source
),

ended AS (
    SELECT *
    FROM jobs
    WHERE end_time IS NOT NULL AND user_name IS NOT NULL
),

user_history AS (
    SELECT
        user_name,
        end_time,
        count(*) OVER earlier AS jobs_ended,
        avg(runtime_s) OVER earlier AS mean_runtime_s,
        runtime_s AS last_runtime_s,
        lag(runtime_s) OVER by_end AS second_last_runtime_s,
        requested_walltime_s AS last_requested_walltime_s
    FROM ended
    WINDOW
        by_end AS (PARTITION BY user_name ORDER BY end_time, job_index),
        earlier AS (
            PARTITION BY user_name ORDER BY end_time, job_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
    -- several ends in the same second: the row that has seen them all is the history from then on
    QUALIFY row_number() OVER (PARTITION BY user_name, end_time ORDER BY job_index DESC) = 1
),

alike_history AS (
    SELECT
        user_name,
        wanted_procs,
        coalesce(requested_walltime_s, -1) AS wanted_walltime_s,
        end_time,
        count(*) OVER earlier AS jobs_ended,
        avg(runtime_s) OVER earlier AS mean_runtime_s,
        runtime_s AS last_runtime_s
    FROM ended
    WINDOW earlier AS (
        PARTITION BY user_name, wanted_procs, coalesce(requested_walltime_s, -1)
        ORDER BY end_time, job_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
    QUALIFY row_number() OVER (
        PARTITION BY user_name, wanted_procs, coalesce(requested_walltime_s, -1), end_time ORDER BY job_index DESC
    ) = 1
),

local_times AS (
    SELECT
        job_index,
        timezone(time_zone, timezone('UTC', submit_time)) AS local_submit_time
    FROM jobs
),

final AS (
    SELECT
        jobs.source,
        jobs.job_index,
        jobs.requested_walltime_s,
        jobs.wanted_procs AS requested_procs,
        hour(local_times.local_submit_time) AS hour_of_day,
        isodow(local_times.local_submit_time) AS day_of_week,
        jobs.queue,
        coalesce(user_history.jobs_ended, 0) AS user_jobs_ended,
        user_history.mean_runtime_s AS user_mean_runtime_s,
        user_history.last_runtime_s,
        user_history.second_last_runtime_s,
        user_history.last_requested_walltime_s,
        (user_history.last_runtime_s + coalesce(user_history.second_last_runtime_s, user_history.last_runtime_s)) / 2
            AS last_two_runtime_s,
        epoch(jobs.submit_time - user_history.end_time)::BIGINT AS seconds_since_last_end,
        coalesce(alike_history.jobs_ended, 0) AS alike_jobs_ended,
        alike_history.last_runtime_s AS alike_last_runtime_s,
        alike_history.mean_runtime_s AS alike_mean_runtime_s
    FROM jobs
    INNER JOIN local_times ON jobs.job_index = local_times.job_index
    ASOF LEFT JOIN user_history
        ON jobs.user_name = user_history.user_name AND jobs.submit_time > user_history.end_time
    ASOF LEFT JOIN alike_history
        ON
            jobs.user_name = alike_history.user_name
            AND jobs.wanted_procs = alike_history.wanted_procs
            AND coalesce(jobs.requested_walltime_s, -1) = alike_history.wanted_walltime_s
            AND jobs.submit_time > alike_history.end_time
)

SELECT * FROM final ORDER BY job_index
