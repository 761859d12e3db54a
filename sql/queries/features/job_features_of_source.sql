-- Features of one source in one pass: histories ordered by end time, and sums of the changes in the numbers of waiting and
-- running jobs, joined as of the submission. In four parts: what had ended, the submissions in a row, the queue, the joins.
WITH
{{ timed_jobs }}

jobs AS (
    SELECT
        jobs.* REPLACE (jobs.taken_start_time AS start_time, jobs.taken_end_time AS end_time),
        coalesce(jobs.requested_procs, jobs.procs) AS wanted_procs,
        -- as keys of joins, where nothing asked for is alike, too
        coalesce(jobs.requested_procs, jobs.procs, -1) AS procs_key,
        coalesce(jobs.requested_walltime_s, -1) AS walltime_key,
        timezone(sources.time_zone, timezone('UTC', jobs.submit_time)) AS local_submit_time
    FROM timed_jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
),

-- what had ended; several ends in the same second: the row that has seen them all is the history from then on

ended AS (
    SELECT
        *,
        CASE WHEN runtime_s IS NOT NULL THEN ln(greatest(runtime_s, 1)) END AS log_runtime,
        coalesce(status IN ('failed', 'cancelled'), false)::DOUBLE AS failed
    FROM jobs
    WHERE end_time IS NOT NULL
),

user_history AS (
    SELECT
        user_name,
        end_time,
        count(*) OVER earlier AS jobs_ended,
        avg(runtime_s) OVER earlier AS mean_runtime_s,
        avg(requested_walltime_s) OVER earlier AS mean_requested_walltime_s,
        avg(wanted_procs) OVER earlier AS mean_requested_procs,
        median(runtime_s) OVER last_ten AS median_runtime_s,
        stddev_pop(log_runtime) OVER last_ten AS log_spread,
        avg(failed) OVER last_ten AS failed_share,
        runtime_s AS last_runtime_s,
        lag(runtime_s) OVER by_end AS second_last_runtime_s,
        lag(runtime_s, 2) OVER by_end AS third_last_runtime_s,
        requested_walltime_s AS last_requested_walltime_s,
        wanted_procs AS last_requested_procs,
        failed AS last_failed
    FROM ended
    WHERE user_name IS NOT NULL
    WINDOW
        by_end AS (PARTITION BY user_name ORDER BY end_time, job_index),
        earlier AS (
            PARTITION BY user_name ORDER BY end_time, job_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ),
        last_ten AS (PARTITION BY user_name ORDER BY end_time, job_index ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)
    QUALIFY lead(end_time) OVER by_end IS DISTINCT FROM end_time
),

alike_history AS (
    SELECT
        user_name,
        procs_key,
        walltime_key,
        end_time,
        count(*) OVER earlier AS jobs_ended,
        avg(runtime_s) OVER earlier AS mean_runtime_s,
        median(runtime_s) OVER last_ten AS median_runtime_s,
        stddev_pop(log_runtime) OVER last_ten AS log_spread,
        runtime_s AS last_runtime_s,
        lag(runtime_s) OVER by_end AS second_last_runtime_s
    FROM ended
    WHERE user_name IS NOT NULL
    WINDOW
        by_end AS (PARTITION BY user_name, procs_key, walltime_key ORDER BY end_time, job_index),
        earlier AS (
            PARTITION BY user_name, procs_key, walltime_key
            ORDER BY end_time, job_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ),
        last_ten AS (
            PARTITION BY user_name, procs_key, walltime_key
            ORDER BY end_time, job_index ROWS BETWEEN 9 PRECEDING AND CURRENT ROW
        )
    QUALIFY lead(end_time) OVER by_end IS DISTINCT FROM end_time
),

executable_history AS (
    SELECT
        user_name,
        executable,
        end_time,
        count(*) OVER earlier AS jobs_ended,
        avg(runtime_s) OVER earlier AS mean_runtime_s,
        runtime_s AS last_runtime_s
    FROM ended
    WHERE user_name IS NOT NULL AND executable IS NOT NULL
    WINDOW
        by_end AS (PARTITION BY user_name, executable ORDER BY end_time, job_index),
        earlier AS (
            PARTITION BY user_name, executable
            ORDER BY end_time, job_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
    QUALIFY lead(end_time) OVER by_end IS DISTINCT FROM end_time
),

group_history AS (
    SELECT
        group_name,
        end_time,
        sum(count(*)) OVER earlier AS jobs_ended,
        sum(sum(runtime_s)) OVER earlier / sum(count(runtime_s)) OVER earlier AS mean_runtime_s
    FROM ended
    WHERE group_name IS NOT NULL
    GROUP BY group_name, end_time
    WINDOW earlier AS (PARTITION BY group_name ORDER BY end_time ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),

-- the user's submissions in a row; a batch begins where the request differs or after a pause

submissions AS (
    SELECT
        job_index,
        user_name,
        epoch(submit_time - lag(submit_time) OVER by_submission)::BIGINT AS seconds_since_last_submission,
        procs_key = lag(procs_key) OVER by_submission AND walltime_key = lag(walltime_key) OVER by_submission AS same_request
    FROM jobs
    WHERE user_name IS NOT NULL
    WINDOW by_submission AS (PARTITION BY user_name ORDER BY job_index)
),

batches AS (
    SELECT
        *,
        max(CASE WHEN same_request AND seconds_since_last_submission <= 600 THEN 0 ELSE place END)
            OVER (PARTITION BY user_name ORDER BY job_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS first_place
    FROM (SELECT *, row_number() OVER (PARTITION BY user_name ORDER BY job_index) AS place FROM submissions)
),

-- how the numbers of waiting and running jobs change: at a submission, when a job leaves the queue, at an end; in doubles, which
-- add up faster than wide integers and hold these sums exactly

queued AS (
    SELECT
        *,
        coalesce(start_time, end_time) AS leave_time, -- a job that never started leaves the queue at its end
        coalesce(end_time >= start_time, false) AS ran,
        coalesce(wanted_procs, 0) AS waiting_procs,
        coalesce(procs, 0) AS running_procs,
        epoch(start_time)::BIGINT AS start_s
    FROM jobs
    WHERE coalesce(start_time, end_time) IS NOT NULL
),

changes AS (
    SELECT
        user_name,
        submit_time AS moment,
        1 AS waiting,
        waiting_procs,
        0 AS running,
        0 AS running_procs,
        0 AS running_start_s -- sum of the starts of the running jobs
    FROM queued
    UNION ALL
    SELECT
        user_name,
        leave_time AS moment,
        -1 AS waiting,
        -waiting_procs AS waiting_procs,
        ran::INTEGER AS running,
        ran::INTEGER * running_procs AS running_procs,
        CASE WHEN ran THEN start_s ELSE 0 END AS running_start_s
    FROM queued
    UNION ALL
    SELECT
        user_name,
        end_time AS moment,
        0 AS waiting,
        0 AS waiting_procs,
        -1 AS running,
        -running_procs AS running_procs,
        -start_s AS running_start_s
    FROM queued
    WHERE ran
),

user_changes AS (
    SELECT
        user_name,
        moment,
        sum(waiting)::DOUBLE AS waiting,
        sum(waiting_procs)::DOUBLE AS waiting_procs,
        sum(running)::DOUBLE AS running,
        sum(running_procs)::DOUBLE AS running_procs,
        sum(running_start_s)::DOUBLE AS running_start_s
    FROM changes
    GROUP BY user_name, moment
),

user_state AS (
    SELECT
        user_name,
        moment,
        sum(waiting) OVER so_far AS waiting,
        sum(running) OVER so_far AS running,
        sum(running_start_s) OVER so_far AS running_start_s
    FROM user_changes
    WHERE user_name IS NOT NULL
    WINDOW so_far AS (PARTITION BY user_name ORDER BY moment ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),

system_state AS (
    SELECT
        moment,
        sum(sum(waiting)) OVER so_far AS waiting,
        sum(sum(waiting_procs)) OVER so_far AS waiting_procs,
        sum(sum(running)) OVER so_far AS running,
        sum(sum(running_procs)) OVER so_far AS running_procs
    FROM user_changes
    GROUP BY moment
    WINDOW so_far AS (ORDER BY moment ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),

-- as of each submission: the joins, of few columns each, and what they found

submitted AS (
    SELECT job_index, submit_time, user_name, group_name, executable, procs_key, walltime_key
    FROM jobs
),

user_known AS (
    SELECT submitted.job_index, user_history.*
    FROM submitted
    ASOF JOIN user_history
        ON submitted.user_name = user_history.user_name AND submitted.submit_time > user_history.end_time
),

alike_known AS (
    SELECT submitted.job_index, alike_history.*
    FROM submitted
    ASOF JOIN alike_history
        ON
            submitted.user_name = alike_history.user_name
            AND submitted.procs_key = alike_history.procs_key
            AND submitted.walltime_key = alike_history.walltime_key
            AND submitted.submit_time > alike_history.end_time
),

executable_known AS (
    SELECT submitted.job_index, executable_history.*
    FROM submitted
    ASOF JOIN executable_history
        ON
            submitted.user_name = executable_history.user_name
            AND submitted.executable = executable_history.executable
            AND submitted.submit_time > executable_history.end_time
),

group_known AS (
    SELECT submitted.job_index, group_history.*
    FROM submitted
    ASOF JOIN group_history
        ON submitted.group_name = group_history.group_name AND submitted.submit_time > group_history.end_time
),

user_now AS (
    SELECT submitted.job_index, user_state.*
    FROM submitted
    ASOF JOIN user_state
        ON submitted.user_name = user_state.user_name AND submitted.submit_time > user_state.moment
),

system_now AS (
    SELECT submitted.job_index, system_state.*
    FROM submitted
    ASOF JOIN system_state ON submitted.submit_time > system_state.moment
),

final AS (
    SELECT
        jobs.source,
        jobs.job_index,
        jobs.requested_walltime_s,
        jobs.wanted_procs AS requested_procs,
        hour(jobs.local_submit_time) AS hour_of_day,
        isodow(jobs.local_submit_time) AS day_of_week,
        jobs.queue,
        jobs.group_name,
        jobs.executable,
        coalesce(user_known.jobs_ended, 0) AS user_jobs_ended,
        user_known.mean_runtime_s AS user_mean_runtime_s,
        user_known.mean_requested_walltime_s AS user_mean_requested_walltime_s,
        user_known.mean_requested_procs AS user_mean_requested_procs,
        user_known.median_runtime_s AS user_median_runtime_s,
        user_known.log_spread AS user_log_spread,
        user_known.failed_share AS user_failed_share,
        user_known.last_runtime_s,
        user_known.second_last_runtime_s,
        user_known.third_last_runtime_s,
        user_known.last_requested_walltime_s,
        user_known.last_requested_procs,
        user_known.last_failed,
        (user_known.last_runtime_s + coalesce(user_known.second_last_runtime_s, user_known.last_runtime_s)) / 2
            AS last_two_runtime_s,
        epoch(jobs.submit_time - user_known.end_time)::BIGINT AS seconds_since_last_end,
        coalesce(alike_known.jobs_ended, 0) AS alike_jobs_ended,
        alike_known.last_runtime_s AS alike_last_runtime_s,
        alike_known.second_last_runtime_s AS alike_second_last_runtime_s,
        alike_known.mean_runtime_s AS alike_mean_runtime_s,
        alike_known.median_runtime_s AS alike_median_runtime_s,
        alike_known.log_spread AS alike_log_spread,
        coalesce(executable_known.jobs_ended, 0) AS executable_jobs_ended,
        executable_known.last_runtime_s AS executable_last_runtime_s,
        executable_known.mean_runtime_s AS executable_mean_runtime_s,
        coalesce(group_known.jobs_ended, 0) AS group_jobs_ended,
        group_known.mean_runtime_s AS group_mean_runtime_s,
        batches.seconds_since_last_submission,
        batches.same_request::DOUBLE AS same_request_as_last,
        coalesce(batches.place - batches.first_place, 0) AS batch_position,
        coalesce(user_now.running, 0)::BIGINT AS user_jobs_running,
        (user_now.running * epoch(jobs.submit_time) - user_now.running_start_s) / nullif(user_now.running, 0)
            AS user_running_elapsed_s,
        coalesce(user_now.waiting, 0)::BIGINT AS user_jobs_waiting,
        coalesce(system_now.running, 0)::BIGINT AS jobs_running,
        coalesce(system_now.running_procs, 0)::BIGINT AS procs_running,
        coalesce(system_now.waiting, 0)::BIGINT AS jobs_waiting,
        coalesce(system_now.waiting_procs, 0)::BIGINT AS procs_waiting
    FROM jobs
    LEFT JOIN batches ON jobs.job_index = batches.job_index
    LEFT JOIN user_known ON jobs.job_index = user_known.job_index
    LEFT JOIN alike_known ON jobs.job_index = alike_known.job_index
    LEFT JOIN executable_known ON jobs.job_index = executable_known.job_index
    LEFT JOIN group_known ON jobs.job_index = group_known.job_index
    LEFT JOIN user_now ON jobs.job_index = user_now.job_index
    LEFT JOIN system_now ON jobs.job_index = system_now.job_index
)

SELECT * FROM final ORDER BY job_index
