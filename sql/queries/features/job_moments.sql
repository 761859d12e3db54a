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
