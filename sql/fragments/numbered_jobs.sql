numbered AS NOT MATERIALIZED (
    SELECT
        jobs.*,
        users.number AS user_number,
        groups.number AS group_number,
        executables.number AS executable_number,
        epoch(jobs.submit_time - sources.clock_zero)::BIGINT AS submit_s,
        epoch(jobs.start_time - sources.clock_zero)::BIGINT AS start_s,
        -- cancelled, or otherwise gone from the queue without a start
        coalesce(jobs.runtime_s, 0) <= 0 AND (jobs.status = 'cancelled' OR jobs.start_time IS NULL) AND jobs.wait_s >= 0
            AND jobs.requested_walltime_s > 0 AS was_cancelled
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    INNER JOIN replay_names AS users ON users.kind = 'user' AND jobs.user_name IS NOT DISTINCT FROM users.name
    INNER JOIN replay_names AS groups ON groups.kind = 'group' AND jobs.group_name IS NOT DISTINCT FROM groups.name
    INNER JOIN replay_names AS executables
        ON executables.kind = 'executable' AND jobs.executable IS NOT DISTINCT FROM executables.name
    WHERE jobs.source = $source AND jobs.job_index >= $from_index AND jobs.job_index < $to_index
),

replayable AS NOT MATERIALIZED (
    SELECT * FROM numbered WHERE procs > 0 AND (runtime_s > 0 OR ($cancelled AND was_cancelled))
)
