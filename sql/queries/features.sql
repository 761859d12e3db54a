-- [job_history]
-- When jobs were submitted and ended, in seconds from 1970, and what tells them apart: what models.runtime.past.similar goes through. Jobs
-- of one source that can be replayed, with an index from $from_index and before $to_index, in the order of submission. The table
-- replay_names holds the query of this name.
WITH
{{ timed_jobs }}

final AS (
    SELECT
        jobs.job_index,
        epoch(jobs.submit_time)::BIGINT AS submit_s,
        epoch(jobs.taken_end_time)::BIGINT AS end_s,
        jobs.runtime_s,
        users.number::INTEGER AS user_number,
        executables.number::INTEGER AS executable_number,
        jobs.requested_walltime_s,
        coalesce(jobs.requested_procs, jobs.procs) AS requested_procs
    FROM timed_jobs AS jobs
    LEFT JOIN replay_names AS users ON users.kind = 'user' AND jobs.user_name = users.name
    LEFT JOIN replay_names AS executables ON executables.kind = 'executable' AND jobs.executable = executables.name
    WHERE jobs.runtime_s > 0 AND jobs.procs > 0 AND jobs.job_index >= $from_index AND jobs.job_index < $to_index
)

SELECT * FROM final ORDER BY job_index

-- [job_moments]
-- When jobs were submitted, started and ended, in seconds from 1970, and what tells them apart: what models.runtime.past.histories goes
-- through. Those of one source with an index from $from_index and before $to_index, in the order of submission. The table
-- replay_names holds the query of this name.
WITH
{{ timed_jobs }}

final AS (
    SELECT
        jobs.job_index,
        epoch(jobs.submit_time)::BIGINT AS submit_s,
        epoch(jobs.taken_start_time)::BIGINT AS start_s,
        epoch(jobs.taken_end_time)::BIGINT AS end_s,
        jobs.runtime_s,
        jobs.procs,
        coalesce(jobs.requested_procs, jobs.procs) AS requested_procs,
        jobs.requested_walltime_s,
        coalesce(jobs.status NOT IN ('completed', 'unknown'), false) AS failed,
        users.number::INTEGER AS user_number,
        groups.number::INTEGER AS group_number,
        executables.number::INTEGER AS executable_number
    FROM timed_jobs AS jobs
    LEFT JOIN replay_names AS users ON users.kind = 'user' AND jobs.user_name = users.name
    LEFT JOIN replay_names AS groups ON groups.kind = 'group' AND jobs.group_name = groups.name
    LEFT JOIN replay_names AS executables ON executables.kind = 'executable' AND jobs.executable = executables.name
    WHERE jobs.job_index >= $from_index AND jobs.job_index < $to_index
)

SELECT * FROM final ORDER BY job_index

-- [job_requests]
-- What jobs say themselves, of features.job_features: those of one source with an index from $from_index and before $to_index, in the
-- order of submission.
WITH jobs AS (
    SELECT jobs.*, timezone(sources.time_zone, timezone('UTC', jobs.submit_time)) AS local_submit_time
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    WHERE jobs.source = $source AND jobs.job_index >= $from_index AND jobs.job_index < $to_index
)

SELECT
    source,
    job_index,
    requested_walltime_s,
    coalesce(requested_procs, procs) AS requested_procs,
    hour(local_submit_time) AS hour_of_day,
    isodow(local_submit_time) AS day_of_week,
    queue,
    group_name,
    executable
FROM jobs
ORDER BY job_index

-- [learnable_jobs]
-- How many jobs of one source run times can be learned from, and how many of them had ended when half of them had been submitted.
WITH
{{ timed_jobs }}

learnable AS (
    SELECT job_index, submit_time, taken_end_time FROM timed_jobs WHERE runtime_s > 0 AND procs > 0
)

SELECT
    count(*) AS jobs,
    count(*) FILTER (
        taken_end_time < (
            SELECT submit_time FROM learnable ORDER BY job_index LIMIT 1 OFFSET (SELECT count(*) // 2 FROM learnable)
        )
    ) AS ended
FROM learnable

-- [part_inputs]
-- What features are computed from, by part of $part_jobs jobs in the order of submission: a hash of the jobs, and their earliest
-- submission, start or end. $code is a hash of the code that computes them.
WITH about AS (
    SELECT
        time_zone,
        EXISTS (SELECT 1 FROM core.jobs WHERE source = $source AND start_time IS NOT NULL) AS has_starts
    FROM core.sources
    WHERE source = $source
)

SELECT
    jobs.job_index // $part_jobs AS part,
    -- hashed twice, since two jobs that exchange a value would add up to the same otherwise
    concat_ws(
        ' ',
        sum(
            hash(
                hash(
                    jobs.job_index, jobs.submit_time, jobs.start_time, jobs.end_time, jobs.runtime_s, jobs.procs,
                    jobs.requested_procs, jobs.requested_walltime_s, jobs.status, jobs.user_name, jobs.group_name,
                    jobs.executable, jobs.queue
                )
            )
        ),
        any_value(about.time_zone),
        any_value(about.has_starts),
        $code
    ) AS inputs,
    min(least(jobs.submit_time, jobs.start_time, jobs.end_time)) AS earliest
FROM core.jobs AS jobs
CROSS JOIN about
WHERE jobs.source = $source
GROUP BY part
ORDER BY part

-- [runtime_rows]
-- Features and true run times of the jobs a runtime model can learn from or be scored on, in submit order.
WITH
{{ timed_jobs }}

final AS (
    SELECT
        features.* EXCLUDE (source),
        alike.* EXCLUDE (source, job_index),
        jobs.submit_time,
        jobs.start_time,
        jobs.taken_end_time AS end_time,
        jobs.user_name,
        jobs.procs,
        jobs.status,
        jobs.runtime_s
    FROM features.job_features AS features
    INNER JOIN timed_jobs AS jobs ON features.source = jobs.source AND features.job_index = jobs.job_index
    INNER JOIN features.similar_jobs AS alike ON features.source = alike.source AND features.job_index = alike.job_index
    WHERE jobs.runtime_s > 0 AND jobs.procs > 0
)

SELECT * FROM final ORDER BY job_index

-- [submitted_jobs]
-- Jobs of one source in the order of submission, and what habits of users are read off: assets.usage.habits. Times in seconds from 1970,
-- end_s -1 for a job that never left, gave_up_s the wait of one that left before a start.
WITH jobs AS (
    SELECT
{{ left_before_start }}
        jobs.*
    FROM core.jobs AS jobs
    WHERE jobs.source = $source
)
SELECT
    job_index,
    epoch(submit_time)::BIGINT AS submit_s,
    coalesce(epoch(end_time)::BIGINT, -1) AS end_s,
    user_name AS user,
    account,
    executable,
    job_id,
    dependency,
    coalesce(procs * runtime_s, 0) / 3600 AS core_hours,
    CASE WHEN left_before_start THEN wait_s END AS gave_up_s
FROM jobs
ORDER BY job_index
