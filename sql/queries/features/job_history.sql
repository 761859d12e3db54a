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
